-- The same by number, with its name. Column order: `Brief::read`.
SELECT no, execution, lease IS NOT NULL, ready IS NOT NULL, due_at, route, flags, id FROM mailbox WHERE no = ?1
