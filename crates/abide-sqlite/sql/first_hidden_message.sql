SELECT visible_at FROM message WHERE mailbox = ?1 AND visible_at > 0 ORDER BY visible_at LIMIT 1
