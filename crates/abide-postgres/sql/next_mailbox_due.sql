-- When time alone makes an instance leasable: a hidden message, or the end of a lease, which always has mail behind it.
SELECT due_at FROM abide.mailbox WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
