SELECT value, version FROM custom_status WHERE mailbox = ?1
