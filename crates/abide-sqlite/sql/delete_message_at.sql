DELETE FROM message WHERE mailbox = ?1 AND visible_at = ?2 AND no = ?3
