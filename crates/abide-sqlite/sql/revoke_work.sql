-- Takes activities back, all of one execution in one statement; ?3 is a JSON array of activity ids. Says which leases
-- were taken away with them, and which lanes lost their head.
DELETE FROM work
WHERE mailbox = ?1 AND execution = ?2 AND activity IN (SELECT value FROM json_each(?3))
RETURNING activity, no, route, session, lease
