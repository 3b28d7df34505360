-- New work of a session. A lane that is there already has a lower head, and keeps it.
INSERT INTO lane (session, route, holder, head)
VALUES (?1, ?2, coalesce((SELECT '=' || owner FROM session WHERE name = ?1 AND held = 1 AND locked_until > ?4), ''), ?3)
ON CONFLICT (session, route) DO NOTHING
