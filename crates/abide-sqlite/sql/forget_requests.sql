-- Plan: request_seen.
DELETE FROM request WHERE seen_at <= ?1
