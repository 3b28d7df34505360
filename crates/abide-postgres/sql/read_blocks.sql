-- What blocks an instance: itself first, then its held activities in the order of their events. "IS TRUE" hides from
-- the planner the index of all blocks, so that it reads the block of the instance by its key.
SELECT i.id, CASE WHEN b.execution > 0 THEN i.name ELSE '' END, k.kind, k.since, k.detail, k.build, k.event, false
FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no]) JOIN abide.block AS k ON k.mailbox = ANY (ARRAY[i.no])
WHERE i.id = $1 AND (k.kind IS NOT NULL) IS TRUE
UNION ALL
SELECT i.id, CASE WHEN b.execution > 0 THEN i.name ELSE '' END, 'quarantine', held.since, held.detail, held.build, held.activity, true
FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
CROSS JOIN LATERAL (
    SELECT w.held_since AS since, w.held_detail AS detail, w.held_build AS build, w.activity FROM abide.work AS w
    WHERE w.mailbox = b.no AND w.held_since IS NOT NULL ORDER BY w.activity, w.no
) AS held
WHERE i.id = $1
