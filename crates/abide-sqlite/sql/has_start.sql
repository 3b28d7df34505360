-- Whether something that starts an instance is queued, visible or not.
-- Plan: message_start.
SELECT 1 FROM message INDEXED BY message_start WHERE mailbox = ?1 AND class IN (1, 2) LIMIT 1
