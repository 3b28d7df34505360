-- What the next rows weigh that remove_messages removes: see size_of_mailbox.
SELECT 1 + octet_length(item) / 8192 FROM message WHERE mailbox = ?1 ORDER BY visible_at, no LIMIT ?2
