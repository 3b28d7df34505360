SELECT m.name, m.version, m.execution, m.status, e.output, m.created_at, m.updated_at, m.parent
FROM mailbox AS m LEFT JOIN execution AS e ON e.mailbox = m.no AND e.no = m.execution
WHERE m.id = ?1 AND m.execution > 0
