-- When time alone makes an instance leasable: a hidden message, or the end of a lease, which always has mail
-- behind it.
-- Plan: mailbox_due, mailbox_leased.
SELECT min(at) FROM (
    SELECT * FROM (SELECT due_at AS at FROM mailbox WHERE due_at IS NOT NULL AND lease IS NULL ORDER BY due_at LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT leased_until AS at FROM mailbox WHERE lease IS NOT NULL ORDER BY leased_until LIMIT 1)
)
