-- The nodes of stores that listen, and those of this one.
SELECT n.said, n.started_at, n.seen_at FROM abide.node AS n WHERE n.owner = $1 OR n.owner = ANY (abide.listening()) ORDER BY n.id
