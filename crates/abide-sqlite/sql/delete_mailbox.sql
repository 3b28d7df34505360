DELETE FROM mailbox WHERE no = ?1
