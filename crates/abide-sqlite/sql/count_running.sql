-- Plan: mailbox_status.
SELECT count(*) FROM mailbox WHERE execution > 0 AND status IN ('Running', 'ContinuedAsNew')
