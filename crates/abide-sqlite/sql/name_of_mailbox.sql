SELECT id, execution, status FROM mailbox WHERE no = ?1
