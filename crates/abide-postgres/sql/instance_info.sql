SELECT i.name, i.version, b.execution, b.status, e.output, i.created_at, b.updated_at, i.parent
FROM abide.instance AS i
JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
LEFT JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[b.no]) AND e.no = b.execution
WHERE i.id = $1 AND b.execution > 0
