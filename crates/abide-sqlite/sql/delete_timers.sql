-- Plan: message_timer.
DELETE FROM message WHERE mailbox = ?1 AND execution = ?2 AND class = 4
