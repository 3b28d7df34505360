-- Instances that have something to prune (ended before ?3, and not among the last ?4), behind the place (?1, ?2); only such
-- that ended before ?6, if that is given.
-- Plan: mailbox_continued.
SELECT * FROM (
    SELECT created_at, no, id FROM mailbox AS m
    WHERE execution > 1 AND created_at = ?1 AND no > ?2 AND (?6 IS NULL OR completed_at < ?6)
      AND EXISTS (
        SELECT 1 FROM execution AS e
        WHERE e.mailbox = m.no AND e.no <= m.execution - ?4 AND e.no <> m.execution
          AND e.status <> 'Running' AND e.completed_at < ?3
          AND e.no <= (SELECT no FROM execution WHERE mailbox = m.no ORDER BY no DESC LIMIT 1 OFFSET ?4))
    ORDER BY no LIMIT ?5)
UNION ALL
SELECT * FROM (
    SELECT created_at, no, id FROM mailbox AS m
    WHERE execution > 1 AND created_at > ?1 AND (?6 IS NULL OR completed_at < ?6)
      AND EXISTS (
        SELECT 1 FROM execution AS e
        WHERE e.mailbox = m.no AND e.no <= m.execution - ?4 AND e.no <> m.execution
          AND e.status <> 'Running' AND e.completed_at < ?3
          AND e.no <= (SELECT no FROM execution WHERE mailbox = m.no ORDER BY no DESC LIMIT 1 OFFSET ?4))
    ORDER BY created_at, no LIMIT ?5)
LIMIT ?5
