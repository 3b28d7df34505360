-- It waits for no start any more.
UPDATE message SET expires_at = NULL WHERE mailbox = ?1 AND visible_at = ?2 AND no = ?3
