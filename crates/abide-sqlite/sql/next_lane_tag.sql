-- Plan: lane_open.
SELECT tag FROM lane WHERE tag > ?1 ORDER BY tag LIMIT 1
