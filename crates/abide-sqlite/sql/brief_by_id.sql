-- What enqueueing must know about a mailbox. Column order: `Brief::read`.
SELECT no, execution, lease IS NOT NULL, ready IS NOT NULL, due_at, route, flags FROM mailbox WHERE id = ?1
