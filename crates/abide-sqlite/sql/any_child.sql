-- Plan: mailbox_parent.
SELECT 1 FROM mailbox WHERE parent = ?1 AND execution > 0 LIMIT 1
