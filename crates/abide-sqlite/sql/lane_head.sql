-- The lowest number that can be leased in a lane.
-- Plan: work_in_session.
SELECT no FROM work
WHERE session = ?1 AND route = ?2 AND visible_at = 0 AND lease IS NULL AND session IS NOT NULL AND held_since IS NULL
ORDER BY no LIMIT 1
