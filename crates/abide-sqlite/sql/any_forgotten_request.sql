-- Asked first, because mostly there is none, and forgetting some makes two tables of its own.
-- Plan: request_seen.
SELECT 1 FROM request WHERE seen_at <= ?1 LIMIT 1
