-- Children that ended, and whose asking execution is over or not there, behind the place (?1, ?2): those of the same time with a higher number, then later ones. The
-- transaction that deletes looks again.
-- Plan: mailbox_ended_child.
SELECT * FROM (
    SELECT completed_at, no, id FROM mailbox AS m
    WHERE completed_at IS NOT NULL AND parent IS NOT NULL AND completed_at = ?1 AND no > ?2 AND completed_at < ?3
      AND NOT EXISTS (
        SELECT 1 FROM mailbox AS p JOIN execution AS e ON e.mailbox = p.no
        WHERE p.id = m.parent AND e.no = coalesce(m.parent_execution, 1) AND e.completed_at IS NULL)
    ORDER BY no LIMIT ?4)
UNION ALL
SELECT * FROM (
    SELECT completed_at, no, id FROM mailbox AS m
    WHERE completed_at IS NOT NULL AND parent IS NOT NULL AND completed_at > ?1 AND completed_at < ?3
      AND NOT EXISTS (
        SELECT 1 FROM mailbox AS p JOIN execution AS e ON e.mailbox = p.no
        WHERE p.id = m.parent AND e.no = coalesce(m.parent_execution, 1) AND e.completed_at IS NULL)
    ORDER BY completed_at, no LIMIT ?4)
LIMIT ?4
