-- When the first cancel of a mailbox is visible: 0 is now.
-- Plan: message_cancel.
SELECT visible_at FROM message WHERE mailbox = ?1 AND class = 5 ORDER BY visible_at LIMIT 1
