-- The routes that have anything ready, ascending: a loose scan, one seek per route. Whoever reads stops when that is enough.
-- Plan: lane_open.
WITH RECURSIVE ready (route) AS (
    SELECT (SELECT route FROM lane ORDER BY route LIMIT 1)
    UNION ALL
    SELECT (SELECT route FROM lane WHERE route > ready.route ORDER BY route LIMIT 1)
    FROM ready WHERE ready.route IS NOT NULL
)
SELECT route FROM ready WHERE route IS NOT NULL
