UPDATE mailbox SET ready = ?2 WHERE no = ?1
