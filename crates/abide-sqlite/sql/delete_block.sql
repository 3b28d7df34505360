DELETE FROM block WHERE mailbox = ?1
