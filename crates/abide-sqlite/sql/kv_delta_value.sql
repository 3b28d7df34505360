SELECT value FROM kv_delta WHERE mailbox = ?1 AND key = ?2
