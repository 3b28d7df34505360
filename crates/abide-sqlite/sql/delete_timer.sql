-- Plan: message_timer.
DELETE FROM message INDEXED BY message_timer WHERE mailbox = ?1 AND execution = ?2 AND event = ?3 AND class = 4
