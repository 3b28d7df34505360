SELECT unbroken FROM mailbox WHERE no = ?1
