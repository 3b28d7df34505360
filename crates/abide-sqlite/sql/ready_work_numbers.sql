-- The same from the index alone: how far a call that takes several routes gets in each.
-- Plan: work_ready.
SELECT no FROM work WHERE route = ?1 AND visible_at = 0 AND lease IS NULL AND session IS NULL AND held_since IS NULL
ORDER BY no LIMIT ?2
