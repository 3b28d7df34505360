UPDATE execution SET status = ?3, output = ?4, completed_at = ?5 WHERE mailbox = ?1 AND no = ?2
