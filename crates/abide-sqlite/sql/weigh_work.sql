-- What the next rows weigh that remove_work removes: see size_of_mailbox.
SELECT 1 + octet_length(item) / 8192 FROM work WHERE mailbox = ?1 ORDER BY execution, activity, no LIMIT ?2
