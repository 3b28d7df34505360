-- Plan: turn_of_execution.
SELECT e.status, e.output, e.started_at, e.completed_at,
       (SELECT CAST(total(length) AS INTEGER) FROM turn WHERE mailbox = e.mailbox AND execution = e.no)
FROM mailbox AS m JOIN execution AS e ON e.mailbox = m.no
WHERE m.id = ?1 AND e.no = ?2
