INSERT INTO lane (session, route, holder, head) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (session, route) DO UPDATE SET holder = excluded.holder, head = excluded.head
