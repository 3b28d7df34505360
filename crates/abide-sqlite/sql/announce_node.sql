INSERT INTO node (id, owner, said, started_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?4)
ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, said = excluded.said, seen_at = excluded.seen_at
