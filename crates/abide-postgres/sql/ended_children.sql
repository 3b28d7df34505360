-- Children that ended before $3, and whose asking execution is over or not there, behind the place ($1, $2). The transaction that deletes
-- looks again.
SELECT c.completed_at, c.no, c.id FROM abide.instance AS c
WHERE c.completed_at IS NOT NULL AND c.parent IS NOT NULL AND (c.completed_at, c.no) > ($1, $2) AND c.completed_at < $3
  AND NOT EXISTS (
    SELECT FROM abide.instance AS p JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[p.no])
    WHERE p.id = ANY (ARRAY[c.parent]) AND e.no = coalesce(c.parent_execution, 1) AND e.completed_at IS NULL)
ORDER BY c.completed_at, c.no LIMIT $4
