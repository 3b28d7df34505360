-- Plan: mailbox_status.
SELECT id FROM mailbox WHERE execution > 0 AND status = ?1 ORDER BY created_at DESC, no DESC
