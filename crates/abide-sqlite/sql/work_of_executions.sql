-- Takes the work of executions away; ?2 is a JSON array of them.
DELETE FROM work WHERE mailbox = ?1 AND execution IN (SELECT value FROM json_each(?2))
RETURNING activity, no, route, session, lease, execution
