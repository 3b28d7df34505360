DELETE FROM custom_status WHERE mailbox = ?1
