-- Queue messages for a name that is no instance, and that nothing will start any more.
DELETE FROM message WHERE mailbox = ?1 AND class = 3
