-- What blocks an instance: itself first, then its held activities in the order of their events. "Is true" keeps those of others from being
-- looked through.
SELECT i.id, CASE WHEN b.execution > 0 THEN i.name ELSE '' END, k.kind, k.since, k.detail, k.build, k.event, false
FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no]) JOIN abide.block AS k ON k.mailbox = ANY (ARRAY[i.no])
WHERE i.id = $1 AND (k.kind IS NOT NULL) IS TRUE
UNION ALL
SELECT * FROM (
    SELECT i.id, CASE WHEN b.execution > 0 THEN i.name ELSE '' END, 'quarantine', w.held_since, w.held_detail, w.held_build, w.activity, true
    FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no]) JOIN abide.work AS w ON w.mailbox = ANY (ARRAY[i.no])
    WHERE i.id = $1 AND (w.held_since IS NOT NULL) IS TRUE ORDER BY w.activity, w.no) AS held
