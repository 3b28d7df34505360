-- Instances that have something to prune, behind (?1, ?2): ended before ?3, and not among the last ?4.
-- Plan: mailbox_continued.
SELECT m.created_at, m.no, m.id FROM mailbox AS m
WHERE m.execution > 1 AND (m.created_at, m.no) > (?1, ?2)
  AND EXISTS (
    SELECT 1 FROM execution AS e
    WHERE e.mailbox = m.no AND e.no <> m.execution AND e.status <> 'Running' AND e.completed_at < ?3
      AND e.no <= (SELECT no FROM execution WHERE mailbox = m.no ORDER BY no DESC LIMIT 1 OFFSET ?4)
  )
ORDER BY m.created_at, m.no LIMIT ?5
