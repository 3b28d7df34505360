INSERT INTO session (name, owner, locked_until, last_active_at, held) VALUES (?1, ?2, ?3, ?4, 1)
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, locked_until = excluded.locked_until,
    last_active_at = excluded.last_active_at, held = 1
