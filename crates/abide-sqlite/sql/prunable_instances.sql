-- Instances that may have something to prune (ended before ?3, and not among the last ?4), behind the place (?1, ?2); only
-- such that ended before ?6, if that is given. Where executions are missing in between, it may be that there is nothing.
-- The first condition is a seek; with it, the second finds something at once, or there is nothing that ended before.
-- Plan: mailbox_continued, execution_ended.
SELECT created_at, no, id FROM mailbox AS m
WHERE execution > 1 AND (created_at, no) > (?1, ?2) AND (?6 IS NULL OR completed_at < ?6)
  AND EXISTS (SELECT 1 FROM execution AS e WHERE e.mailbox = m.no AND e.no <= m.execution - ?4)
  AND EXISTS (
    SELECT 1 FROM execution AS e
    WHERE e.mailbox = m.no AND e.completed_at < ?3 AND +e.no <= m.execution - ?4 AND e.status <> 'Running')
ORDER BY created_at, no LIMIT ?5
