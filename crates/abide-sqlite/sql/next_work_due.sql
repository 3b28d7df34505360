-- When time alone makes work leasable: hidden work, the end of a lease, the end of a session lock.
-- Plan: work_hidden, work_leased, session_held.
SELECT min(at) FROM (
    SELECT * FROM (SELECT visible_at AS at FROM work WHERE visible_at > 0 AND lease IS NULL ORDER BY visible_at LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT leased_until AS at FROM work WHERE lease IS NOT NULL ORDER BY leased_until LIMIT 1)
    UNION ALL
    SELECT * FROM (SELECT locked_until AS at FROM session WHERE held = 1 ORDER BY locked_until LIMIT 1)
)
