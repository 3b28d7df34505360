-- The first $1 of what is blocked, and of work that is held, each with all of its last millisecond: they are put in order together.
SELECT i.id, CASE WHEN b.execution > 0 THEN i.name ELSE '' END, k.kind, k.since, k.detail, k.build, k.event, false
FROM (SELECT k.* FROM abide.block AS k WHERE k.kind IS NOT NULL ORDER BY k.since FETCH FIRST $1 ROWS WITH TIES) AS k
JOIN abide.instance AS i ON i.no = ANY (ARRAY[k.mailbox]) JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[k.mailbox])
UNION ALL
SELECT i.id, CASE WHEN b.execution > 0 THEN i.name ELSE '' END, 'quarantine', w.held_since, w.held_detail, w.held_build, w.activity, true
FROM (SELECT w.* FROM abide.work AS w WHERE w.held_since > 0 ORDER BY w.held_since FETCH FIRST $1 ROWS WITH TIES) AS w
JOIN abide.instance AS i ON i.no = ANY (ARRAY[w.mailbox]) JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[w.mailbox])
