-- Plan: mailbox_ended_child.
SELECT completed_at, no, id FROM mailbox
WHERE completed_at IS NOT NULL AND parent IS NOT NULL AND (completed_at, no) > (?1, ?2) AND completed_at < ?3
ORDER BY completed_at, no LIMIT ?4
