UPDATE mailbox SET lease_counts = 1 WHERE no = ?1
