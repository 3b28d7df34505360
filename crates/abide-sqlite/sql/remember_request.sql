-- Changes no row if the request was seen.
INSERT INTO request (key, seen_at) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING
