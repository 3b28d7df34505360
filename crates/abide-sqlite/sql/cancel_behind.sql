-- The lowest visible cancel behind a message. Column order: `StoredMessage::read`.
-- Plan: message_cancel.
SELECT no, attempts, item FROM message INDEXED BY message_cancel WHERE mailbox = ?1 AND visible_at = 0 AND no > ?2 AND class = 5 ORDER BY no LIMIT 1
