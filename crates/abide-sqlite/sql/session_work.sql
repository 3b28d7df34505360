-- The head of one lane. Column order: `WorkRow::read`.
-- Plan: work_in_session.
SELECT w.mailbox, w.execution, w.activity, w.no, w.route, w.session, w.attempts, w.item, m.id, m.name,
       CASE WHEN m.execution > 0 THEN m.version ELSE '' END, w.first_try, w.try_no
FROM work AS w
LEFT JOIN mailbox AS m ON m.no = w.mailbox
WHERE w.session = ?1 AND w.route = ?2 AND w.visible_at = 0 AND w.lease IS NULL
  AND w.session IS NOT NULL AND w.held_since IS NULL
ORDER BY w.no
LIMIT 1
