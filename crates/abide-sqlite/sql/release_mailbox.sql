-- Ends a lease and says when the mailbox can be leased again, and by whom.
UPDATE mailbox
SET ready = ?2, due_at = ?3, route = ?4, flags = ?5, lease = NULL, leased_until = NULL, owner = NULL, batch = NULL
WHERE no = ?1
