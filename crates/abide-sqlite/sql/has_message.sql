SELECT 1 FROM message WHERE mailbox = ?1 AND visible_at = 0 AND no = ?2
