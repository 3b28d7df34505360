SELECT no, class, attempts, item FROM message WHERE mailbox = ?1 AND visible_at = 0 ORDER BY no LIMIT ?2
