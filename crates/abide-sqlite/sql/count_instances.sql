-- Plan: mailbox_status.
SELECT status, count(*) FROM mailbox WHERE execution > 0 GROUP BY status
