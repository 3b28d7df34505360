-- The start of the first or of the next execution, the first that becomes visible; ?2 is the lowest class that will do.
-- Plan: message_start.
SELECT visible_at, item FROM message INDEXED BY message_start
WHERE mailbox = ?1 AND class IN (1, 2) AND class >= ?2 ORDER BY visible_at, no LIMIT 1
