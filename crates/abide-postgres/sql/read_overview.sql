-- One instance at one moment. Counts stop at $2, lists at $3, the output at $4 characters. Column order: `overview_of`.
WITH clock AS MATERIALIZED (SELECT abide.now() AS now)
SELECT clock.now, b.execution, i.name, i.version, b.pin, b.status, left(e.output, $4), i.created_at, b.updated_at, i.completed_at,
       b.waiting, i.parent, i.parent_execution, i.parent_event, CASE WHEN b.lease IS NOT NULL THEN b.leased_until END,
       (SELECT count(*) FROM (SELECT FROM abide.execution AS x WHERE x.mailbox = b.no LIMIT $2) AS x),
       (SELECT count(*) FROM (SELECT FROM abide.message AS m WHERE m.mailbox = b.no AND m.place IS NOT NULL LIMIT $2) AS m)
       + (SELECT count(*) FROM (SELECT FROM abide.message AS m
                                WHERE m.mailbox = b.no AND m.visible_at IS NOT NULL AND m.visible_at <= clock.now LIMIT $2) AS m),
       (SELECT count(*) FROM (SELECT FROM abide.instance AS c
                              WHERE c.parent = i.id AND c.parent IS NOT NULL AND length(c.status) > 0 LIMIT $2) AS c),
       ARRAY(SELECT c.id FROM abide.instance AS c
             WHERE c.parent = i.id AND c.parent IS NOT NULL AND length(c.status) > 0 ORDER BY c.created_at, c.no LIMIT $3),
       start.item, start.visible_at, work.activities, work.attempts, work.due, work.leased, work.held,
       work.names, work.tags
FROM clock, abide.instance AS i
JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
LEFT JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[b.no]) AND e.no = b.execution
LEFT JOIN LATERAL (
    SELECT m.item, m.visible_at FROM abide.message AS m
    WHERE m.mailbox = b.no AND m.class IN (1, 2) AND (b.execution = 0 OR m.class = 2)
    ORDER BY m.visible_at NULLS FIRST, m.no LIMIT 1
) AS start ON true
CROSS JOIN LATERAL (
    SELECT array_agg(w.activity) AS activities, array_agg(w.attempts) AS attempts, array_agg(w.due_at) AS due,
           array_agg(w.leased_until) AS leased, array_agg(w.is_held) AS held,
           array_agg((SELECT r.activity FROM abide.work_route AS r WHERE r.no = (w.route & 274877906943) >> 1)) AS names,
           array_agg(w.tag) AS tags
    FROM (SELECT w.activity, w.attempts, w.due_at, w.held_since IS NOT NULL AS is_held, CASE WHEN w.lease IS NOT NULL THEN w.leased_until END AS leased_until,
                 w.route, w.tag
          FROM abide.work AS w WHERE w.mailbox = b.no AND w.execution = b.execution
          ORDER BY w.activity, w.no LIMIT $3) AS w
) AS work
WHERE i.id = $1
