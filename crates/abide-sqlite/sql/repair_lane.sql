-- Takes a lane out of the way whose head is gone: what a damaged row has left.
-- Plan: lane_open.
DELETE FROM lane WHERE route = ?1 AND holder = ?2 AND head = ?3
