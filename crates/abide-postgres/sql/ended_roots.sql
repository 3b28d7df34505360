-- Roots that ended before $3, behind the place ($1, $2).
SELECT completed_at, no, id FROM abide.instance
WHERE completed_at IS NOT NULL AND parent IS NULL AND (completed_at, no) > ($1, $2) AND completed_at < $3
ORDER BY completed_at, no LIMIT $4
