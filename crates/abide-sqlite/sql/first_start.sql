-- The visible messages that start an execution, lowest first; ?2 is the lowest class that will do. Column order:
-- `StoredMessage::read`.
-- Plan: message_start.
SELECT no, attempts, item FROM message INDEXED BY message_start WHERE mailbox = ?1 AND visible_at = 0 AND class IN (1, 2) AND class >= ?2 ORDER BY no
