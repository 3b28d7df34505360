SELECT key, value, updated_at FROM kv_store WHERE mailbox = ?1 ORDER BY key
