SELECT id FROM mailbox WHERE no = ?1
