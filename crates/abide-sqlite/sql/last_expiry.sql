-- When the last message of a mailbox that waits for a start expires.
-- Plan: message_waiting.
SELECT expires_at FROM message WHERE mailbox = ?1 AND expires_at IS NOT NULL ORDER BY expires_at DESC LIMIT 1
