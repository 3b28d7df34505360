DELETE FROM kv_store WHERE mailbox = ?1
