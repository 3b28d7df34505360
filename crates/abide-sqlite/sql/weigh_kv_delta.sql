-- What the next rows weigh that remove_kv_delta removes: see size_of_mailbox.
SELECT 1 + ifnull(octet_length(value), 0) / 8192 FROM kv_delta WHERE mailbox = ?1 ORDER BY key LIMIT ?2
