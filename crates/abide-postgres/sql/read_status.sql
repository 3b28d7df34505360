-- How an instance stands, and the last turn of one that failed: of one moment, whatever its history is like.
SELECT b.status, e.output, i.custom_status, i.custom_status_version,
       CASE WHEN b.status = 'Failed' THEN (
           SELECT t.events FROM abide.turn AS t WHERE t.mailbox = b.no AND t.execution = b.execution
           ORDER BY t.last_event DESC LIMIT 1) END
FROM abide.instance AS i
JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
LEFT JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[b.no]) AND e.no = b.execution
WHERE i.id = $1 AND b.execution > 0
