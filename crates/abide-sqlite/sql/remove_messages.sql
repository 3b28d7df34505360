DELETE FROM message
WHERE mailbox = ?1 AND (visible_at, no) IN
    (SELECT visible_at, no FROM message WHERE mailbox = ?1 ORDER BY visible_at, no LIMIT ?2)
