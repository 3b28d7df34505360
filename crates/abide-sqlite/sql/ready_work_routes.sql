-- The routes that have anything ready, ascending: a loose scan, one seek per route. Whoever reads stops when that is enough.
-- Plan: work_ready.
WITH RECURSIVE ready (route) AS (
    SELECT (SELECT route FROM work WHERE visible_at = 0 AND lease IS NULL AND session IS NULL AND held_since IS NULL ORDER BY route LIMIT 1)
    UNION ALL
    SELECT (SELECT route FROM work WHERE visible_at = 0 AND lease IS NULL AND session IS NULL AND held_since IS NULL AND route > ready.route ORDER BY route LIMIT 1)
    FROM ready WHERE ready.route IS NOT NULL
)
SELECT route FROM ready WHERE route IS NOT NULL
