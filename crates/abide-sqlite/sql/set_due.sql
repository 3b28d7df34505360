UPDATE mailbox SET due_at = ?2 WHERE no = ?1
