-- Ends a lease and says when the mailbox can be leased again.
UPDATE mailbox
SET ready = ?2, due_at = ?3, lease = NULL, leased_until = NULL, owner = NULL, batch = NULL
WHERE no = ?1
