-- What blocks an instance. Column order: `read_blocked`.
-- Plan: mailbox_id.
SELECT m.id, m.execution > 0, m.name, b.kind, b.since, b.detail, b.build, b.event
FROM mailbox AS m JOIN block AS b ON b.mailbox = m.no WHERE m.id = ?1 AND b.kind IS NOT NULL
