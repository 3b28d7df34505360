-- Queue messages, timers and answers for a name that is no instance, and that nothing will start any more.
DELETE FROM message WHERE mailbox = ?1 AND class IN (3, 4, 6)
