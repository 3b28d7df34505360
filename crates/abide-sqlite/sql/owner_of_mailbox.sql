SELECT owner FROM mailbox WHERE no = ?1
