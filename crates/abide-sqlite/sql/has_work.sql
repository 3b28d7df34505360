SELECT 1 FROM work WHERE mailbox = ?1 LIMIT 1
