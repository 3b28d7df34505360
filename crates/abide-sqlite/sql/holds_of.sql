-- The held work of an instance. Column order: `read_held`.
-- Plan: mailbox_id, work_held_of.
SELECT m.id, m.execution > 0, m.name, w.held_since, w.held_detail, w.held_build, w.activity
FROM mailbox AS m JOIN work AS w ON w.mailbox = m.no
WHERE m.id = ?1 AND w.held_since IS NOT NULL ORDER BY w.activity, w.no
