UPDATE execution SET pin = ?3 WHERE mailbox = ?1 AND no = ?2
