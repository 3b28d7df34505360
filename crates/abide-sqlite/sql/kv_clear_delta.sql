UPDATE kv_delta SET value = NULL WHERE mailbox = ?1
