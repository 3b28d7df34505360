-- Plan: work_ready, lane.
SELECT 1 FROM (SELECT 1 FROM work WHERE visible_at = 0 AND lease IS NULL AND session IS NULL AND held_since IS NULL LIMIT 1)
UNION ALL
SELECT 1 FROM (SELECT 1 FROM lane LIMIT 1)
LIMIT 1
