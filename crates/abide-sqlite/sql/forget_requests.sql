-- A few at a time: whoever comes next forgets the next ones.
-- Plan: request_seen.
DELETE FROM request
WHERE key IN (SELECT key FROM request WHERE seen_at <= ?1 ORDER BY seen_at LIMIT 100)
