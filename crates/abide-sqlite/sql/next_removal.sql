-- When the rows of a deleted mailbox may be removed, or mail that waits for a start expires.
-- Plan: tombstone_due, message_expiry.
SELECT min(at) FROM (
    SELECT * FROM (SELECT held_until AS at FROM tombstone ORDER BY held_until LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT expires_at AS at FROM message WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1)
)
