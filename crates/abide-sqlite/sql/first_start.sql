-- The lowest visible message that starts an execution; ?2 is the lowest class that will do. Column order: `StoredMessage::read`.
-- Plan: message_start.
SELECT no, attempts, item FROM message INDEXED BY message_start WHERE mailbox = ?1 AND visible_at = 0 AND class IN (1, 2) AND class >= ?2 ORDER BY no LIMIT 1
