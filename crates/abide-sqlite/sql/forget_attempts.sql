UPDATE message SET attempts = 0 WHERE mailbox = ?1 AND attempts > 0
