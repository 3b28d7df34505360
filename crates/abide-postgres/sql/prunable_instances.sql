-- Instances that may have something to prune (ended before $3, and not among the last $4), behind the place ($1, $2); only such that ended
-- before $6, if that is given. Where executions are missing in between, it may be that there is nothing.
SELECT i.created_at, i.no, i.id FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
WHERE i.has_past AND (i.created_at, i.no) > ($1, $2) AND ($6::bigint IS NULL OR i.completed_at < $6)
  AND EXISTS (SELECT FROM abide.execution AS e
              WHERE e.mailbox = ANY (ARRAY[i.no]) AND e.no <= b.execution - $4 AND e.completed_at < $3 AND e.status <> 'Running')
ORDER BY i.created_at, i.no LIMIT $5
