-- Only for a mailbox that is not leased: see `Tx::after_enqueue`.
UPDATE mailbox SET due_at = ?2 WHERE no = ?1
