-- The head of a mailbox: visible ones sort before hidden ones.
SELECT visible_at, no, attempts FROM message WHERE mailbox = ?1 ORDER BY visible_at, no LIMIT 1
