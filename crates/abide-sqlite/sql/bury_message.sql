-- Both queues share one sequence, so the number is free here.
INSERT INTO dead_letter (no, queue, instance, attempts, dead_at, item)
SELECT no, 'message', ?3, attempts, ?4, item FROM message WHERE mailbox = ?1 AND visible_at = 0 AND no = ?2
