UPDATE message SET attempts = attempts + 1 WHERE mailbox = ?1 AND visible_at = 0 AND no = ?2
