-- Takes back some work of one execution, in the order of its events: at most ?3. Says which leases were taken
-- away with it, and which lanes lost their head.
DELETE FROM work
WHERE mailbox = ?1 AND execution = ?2 AND (activity, no) IN
    (SELECT activity, no FROM work WHERE mailbox = ?1 AND execution = ?2 ORDER BY activity, no LIMIT ?3)
RETURNING activity, no, route, session, lease
