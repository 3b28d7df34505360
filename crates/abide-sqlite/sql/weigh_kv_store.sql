-- What the next rows weigh that remove_kv_store removes: see size_of_mailbox.
SELECT 1 + octet_length(value) / 8192 FROM kv_store WHERE mailbox = ?1 ORDER BY key LIMIT ?2
