DELETE FROM execution WHERE mailbox = ?1 AND no = ?2
