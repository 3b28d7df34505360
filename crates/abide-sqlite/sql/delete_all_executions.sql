DELETE FROM execution WHERE mailbox = ?1
