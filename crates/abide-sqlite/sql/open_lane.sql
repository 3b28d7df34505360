-- The lane of one tag and holder whose head is oldest.
-- Plan: lane_open.
SELECT session, head FROM lane WHERE tag = ?1 AND holder = ?2 ORDER BY head LIMIT 1
