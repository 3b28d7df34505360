UPDATE session SET held = 0 WHERE name = ?1
