UPDATE message SET visible_at = ?3 WHERE mailbox = ?1 AND visible_at = 0 AND no = ?2
