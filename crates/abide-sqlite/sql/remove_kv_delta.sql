DELETE FROM kv_delta
WHERE mailbox = ?1 AND key IN (SELECT key FROM kv_delta WHERE mailbox = ?1 ORDER BY key LIMIT ?2)
