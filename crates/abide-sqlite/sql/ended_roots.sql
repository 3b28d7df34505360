-- Roots that ended, behind the place (?1, ?2): those of the same time with a higher number, then later ones.
-- Plan: mailbox_ended_root.
SELECT * FROM (
    SELECT completed_at, no, id FROM mailbox AS m
    WHERE completed_at IS NOT NULL AND parent IS NULL AND completed_at = ?1 AND no > ?2 AND completed_at < ?3
    ORDER BY no LIMIT ?4)
UNION ALL
SELECT * FROM (
    SELECT completed_at, no, id FROM mailbox AS m
    WHERE completed_at IS NOT NULL AND parent IS NULL AND completed_at > ?1 AND completed_at < ?3
    ORDER BY completed_at, no LIMIT ?4)
LIMIT ?4
