-- Only for a mailbox that is not leased: see `Tx::after_enqueue`.
UPDATE mailbox SET ready = ?2, route = ?3 WHERE no = ?1
