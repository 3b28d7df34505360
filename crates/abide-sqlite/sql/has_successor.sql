-- Among the few that start anything, not among all mail.
-- Plan: message_start.
SELECT 1 FROM message INDEXED BY message_start WHERE mailbox = ?1 AND class IN (1, 2) AND +class = 2 LIMIT 1
