-- When the rows of a deleted mailbox may be removed.
-- Plan: tombstone_due.
SELECT held_until FROM tombstone ORDER BY held_until LIMIT 1
