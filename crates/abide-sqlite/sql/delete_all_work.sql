DELETE FROM work WHERE mailbox = ?1 RETURNING activity, no, tag, session, lease, execution
