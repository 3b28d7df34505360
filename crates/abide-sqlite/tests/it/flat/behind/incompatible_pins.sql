-- Instances with mail that were started by a version that nobody here can replay yet.
INSERT INTO route (orchestration, version, pin, refused, is_suspect, has_cancel)
VALUES ('Order', '1.0.0', '9.9.9', '', 0, 0);
INSERT INTO mailbox (no, id, execution, last_event, status, pin, name, version, created_at, updated_at, ready, route)
SELECT mailbox + i, 'pinned-' || i, 1, 1, 'Running', '9.9.9', 'Order', '1.0.0', 1, 1, number + i,
       (SELECT max(no) FROM route)
FROM counter, temp.numbers;
INSERT INTO execution (mailbox, no, status, pin, started_at)
SELECT mailbox + i, 1, 'Running', '9.9.9', 1 FROM counter, temp.numbers;
INSERT INTO message (mailbox, visible_at, no, class, item)
SELECT mailbox + i, 0, number + i, 0, '{"ExternalRaised":{"instance":"pinned-' || i || '","name":"go","data":""}}'
FROM counter, temp.numbers;
UPDATE counter SET route = (SELECT max(no) FROM route),
                   mailbox = mailbox + (SELECT count(*) FROM temp.numbers),
                   number = number + (SELECT count(*) FROM temp.numbers);
