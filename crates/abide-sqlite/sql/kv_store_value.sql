SELECT value FROM kv_store WHERE mailbox = ?1 AND key = ?2
