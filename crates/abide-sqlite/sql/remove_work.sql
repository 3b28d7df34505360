-- Some work of a deleted mailbox, with the lanes it was in.
DELETE FROM work
WHERE mailbox = ?1 AND (execution, activity, no) IN
    (SELECT execution, activity, no FROM work WHERE mailbox = ?1 ORDER BY execution, activity, no LIMIT ?2)
RETURNING activity, no, route, session, lease, execution
