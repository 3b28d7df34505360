-- Changes no row if the request was seen, and not so long ago that it is to be forgotten.
INSERT INTO request (key, seen_at) VALUES (?1, ?2)
ON CONFLICT (key) DO UPDATE SET seen_at = excluded.seen_at WHERE seen_at <= ?3
