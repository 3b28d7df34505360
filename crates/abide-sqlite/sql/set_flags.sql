UPDATE mailbox SET flags = ?2 WHERE no = ?1
