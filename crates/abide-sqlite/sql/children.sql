-- Plan: mailbox_parent.
SELECT no, id, status FROM mailbox WHERE parent = ?1 AND execution > 0 ORDER BY created_at, no LIMIT ?2
