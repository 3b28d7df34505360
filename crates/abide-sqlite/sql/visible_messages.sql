-- The batch, as far as the reader wants it. Column order: `StoredMessage::read`.
SELECT no, attempts, item FROM message WHERE mailbox = ?1 AND visible_at = 0 ORDER BY no
