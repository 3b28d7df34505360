INSERT INTO lane (session, tag, holder, head) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (session, tag) DO UPDATE SET holder = excluded.holder, head = excluded.head
