SELECT 1 FROM request WHERE key = ?1 AND seen_at > ?2
