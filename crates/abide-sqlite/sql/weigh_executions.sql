-- What the next rows weigh that remove_executions removes: see size_of_mailbox.
SELECT 1 + ifnull(octet_length(output), 0) / 8192 FROM execution WHERE mailbox = ?1 ORDER BY no LIMIT ?2
