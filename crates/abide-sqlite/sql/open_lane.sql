-- The lane of one route and holder whose head is oldest.
-- Plan: lane_open.
SELECT session, head FROM lane WHERE route = ?1 AND holder = ?2 ORDER BY head LIMIT 1
