-- Held work, that held first first. Column order: `read_held`.
-- Plan: work_held.
SELECT m.id, m.execution > 0, m.name, w.held_since, w.held_detail, w.held_build, w.activity
FROM work AS w JOIN mailbox AS m ON m.no = w.mailbox
WHERE w.held_since IS NOT NULL ORDER BY w.held_since, m.id, w.activity, w.no LIMIT ?1
