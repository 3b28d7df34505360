SELECT e.status, e.output, e.started_at, e.completed_at,
       (SELECT coalesce(sum(t.length), 0)::bigint FROM abide.turn AS t WHERE t.mailbox = e.mailbox AND t.execution = e.no)
FROM abide.instance AS i JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[i.no])
WHERE i.id = $1 AND e.no = $2
