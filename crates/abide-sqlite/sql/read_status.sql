-- How an instance stands: one row, whatever its history is like.
-- Plan: mailbox_id.
SELECT m.no, m.execution, m.status, e.output, c.value, c.version
FROM mailbox AS m
LEFT JOIN execution AS e ON e.mailbox = m.no AND e.no = m.execution
LEFT JOIN custom_status AS c ON c.mailbox = m.no
WHERE m.id = ?1 AND m.execution > 0
