-- One instance that waits for many timers.
INSERT INTO mailbox (no, id, execution, last_event, status, name, version, created_at, updated_at, due_at)
SELECT mailbox + 1, 'sleepy', 1, 1, 'Running', 'Order', '1.0.0', 1, 1, 9000000000000001 FROM counter;
INSERT INTO execution (mailbox, no, status, started_at) SELECT mailbox + 1, 1, 'Running', 1 FROM counter;
INSERT INTO message (mailbox, visible_at, no, class, execution, event, item)
SELECT mailbox + 1, 9000000000000000 + i, number + i, 4, 1, i + 1,
       '{"TimerFired":{"instance":"sleepy","execution_id":1,"id":' || (i + 1) ||
       ',"fire_at_ms":' || (9000000000000000 + i) || '}}'
FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
