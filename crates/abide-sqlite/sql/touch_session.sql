UPDATE session SET last_active_at = ?2 WHERE name = ?1 AND held = 1 AND locked_until > ?2
