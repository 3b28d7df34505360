-- Every instance there is.
SELECT id FROM mailbox WHERE execution > 0 ORDER BY created_at DESC, no DESC
