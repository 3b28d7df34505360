-- Instances with a history and a value, and nothing to do.
INSERT INTO mailbox (no, id, execution, last_event, status, pin, name, version, created_at, updated_at)
SELECT mailbox + i, 'idle-' || i, 1, 1, 'Running', '0.2.0', 'Order', '1.0.0', 1, 1 FROM counter, temp.numbers;
INSERT INTO execution (mailbox, no, status, pin, started_at)
SELECT mailbox + i, 1, 'Running', '0.2.0', 1 FROM counter, temp.numbers;
INSERT INTO turn (mailbox, execution, first_event, last_event, length, events)
SELECT mailbox + i, 1, 1, 1, 0, '[]' FROM counter, temp.numbers;
INSERT INTO kv_delta (mailbox, key, value, updated_at) SELECT mailbox + i, 'k', 'v', 1 FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + (SELECT count(*) FROM temp.numbers);
