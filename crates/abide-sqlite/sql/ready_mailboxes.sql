-- The queue of one route, oldest mail first. Column order: `MailboxRow::read`.
-- Plan: mailbox_ready.
SELECT no, id, execution, last_event, status, pin, name, version, parent, parent_execution, parent_event,
       created_at, ready, completed_at, route, flags
FROM mailbox
WHERE route = ?1 AND ready IS NOT NULL
ORDER BY ready
LIMIT ?2
