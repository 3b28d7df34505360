-- The routes that have anything ready, ascending: a loose scan, one seek per route. Whoever reads stops when that is enough.
-- Plan: mailbox_ready.
WITH RECURSIVE ready (route) AS (
    SELECT (SELECT route FROM mailbox WHERE ready IS NOT NULL ORDER BY route LIMIT 1)
    UNION ALL
    SELECT (SELECT route FROM mailbox WHERE ready IS NOT NULL AND route > ready.route ORDER BY route LIMIT 1)
    FROM ready WHERE ready.route IS NOT NULL
)
SELECT route FROM ready WHERE route IS NOT NULL
