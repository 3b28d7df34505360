-- Ends a lease or a hold; the work is visible at ?5, or now if that is zero, and has ?6 attempts.
UPDATE work
SET lease = NULL, leased_until = NULL, owner = NULL, visible_at = ?5, attempts = ?6, route = ?7,
    held_since = NULL, held_detail = NULL, held_build = NULL
WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4
