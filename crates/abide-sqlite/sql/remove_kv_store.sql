DELETE FROM kv_store
WHERE mailbox = ?1 AND key IN (SELECT key FROM kv_store WHERE mailbox = ?1 ORDER BY key LIMIT ?2)
