-- Ends a lease; nobody takes the work until it is tried again.
UPDATE work
SET lease = NULL, leased_until = NULL, owner = NULL, held_since = ?5, held_detail = ?6, held_build = ?7
WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4
