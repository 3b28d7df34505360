-- A mailbox by its number. Column order: `MailboxRow::read`.
SELECT no, id, execution, last_event, status, pin, name, version, parent, parent_execution, parent_event,
       created_at, ready, completed_at, route, flags
FROM mailbox
WHERE no = ?1
