-- Ends a lease; the work is visible at ?5, or now if that is zero, and has ?6 attempts.
UPDATE work SET lease = NULL, leased_until = NULL, owner = NULL, visible_at = ?5, attempts = ?6
WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4
