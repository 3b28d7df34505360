DELETE FROM work WHERE mailbox = ?1 RETURNING activity, no, route, session, lease, execution
