-- What a lease must know about its mailbox. Column order: `Held::read`.
SELECT no, id, execution, last_event, updated_at, lease, leased_until, batch, ready IS NOT NULL, status, due_at, route, flags, lease_counts
FROM mailbox WHERE no = ?1
