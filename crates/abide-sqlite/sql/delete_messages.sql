DELETE FROM message WHERE mailbox = ?1
