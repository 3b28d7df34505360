-- Instances that another one waits for, in the order of their ids. "IS TRUE" hides from the planner the index of all
-- blocks, so that it reads the block of the instance by its key. Column order: `child_of`.
WITH clock AS MATERIALIZED (SELECT abide.now() AS now)
SELECT i.id, b.execution, i.name, i.version, b.pin, b.status, b.lease IS NOT NULL AND b.leased_until > clock.now, start.item,
       coalesce(k.kind, CASE WHEN held.since IS NOT NULL THEN 'quarantine' END), coalesce(k.since, held.since),
       coalesce(k.detail, held.detail), coalesce(k.build, held.build), CASE WHEN k.kind IS NULL THEN held.activity ELSE k.event END,
       k.kind IS NULL
FROM clock, unnest($1::text[]) WITH ORDINALITY AS wanted (id, place)
JOIN abide.instance AS i ON i.id = ANY (ARRAY[wanted.id])
JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
LEFT JOIN abide.block AS k ON k.mailbox = ANY (ARRAY[b.no]) AND (k.kind IS NOT NULL) IS TRUE
LEFT JOIN LATERAL (
    SELECT m.item FROM abide.message AS m
    WHERE m.mailbox = b.no AND b.execution = 0 AND m.class IN (1, 2) ORDER BY m.visible_at NULLS FIRST, m.no LIMIT 1
) AS start ON true
LEFT JOIN LATERAL (
    SELECT w.held_since AS since, w.held_detail AS detail, w.held_build AS build, w.activity FROM abide.work AS w
    WHERE w.mailbox = b.no AND w.held_since IS NOT NULL ORDER BY w.activity, w.no LIMIT 1
) AS held ON k.kind IS NULL
ORDER BY wanted.place
