-- Many instances that wait for one timer each.
INSERT INTO mailbox (no, id, execution, last_event, status, name, version, created_at, updated_at, due_at)
SELECT mailbox + i, 'sleepy-' || i, 1, 1, 'Running', 'Order', '1.0.0', 1, 1, 9000000000000000 + i
FROM counter, temp.numbers;
INSERT INTO execution (mailbox, no, status, started_at)
SELECT mailbox + i, 1, 'Running', 1 FROM counter, temp.numbers;
INSERT INTO message (mailbox, visible_at, no, class, execution, event, item)
SELECT mailbox + i, 9000000000000000 + i, number + i, 4, 1, 2,
       '{"TimerFired":{"instance":"sleepy-' || i || '","execution_id":1,"id":2,"fire_at_ms":' ||
       (9000000000000000 + i) || '}}'
FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + (SELECT count(*) FROM temp.numbers),
                   number = number + (SELECT count(*) FROM temp.numbers);
