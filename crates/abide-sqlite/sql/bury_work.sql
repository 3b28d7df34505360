-- Both queues share one sequence, so the number is free here.
INSERT INTO dead_letter (no, queue, instance, attempts, dead_at, item)
SELECT no, 'work', ?5, attempts, ?6, item FROM work WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4
