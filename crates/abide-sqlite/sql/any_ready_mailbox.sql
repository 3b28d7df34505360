-- Plan: mailbox_ready.
SELECT 1 FROM mailbox WHERE ready IS NOT NULL LIMIT 1
