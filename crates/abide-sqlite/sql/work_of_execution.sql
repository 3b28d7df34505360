DELETE FROM work WHERE mailbox = ?1 AND execution = ?2 RETURNING activity, no, tag, session, lease
