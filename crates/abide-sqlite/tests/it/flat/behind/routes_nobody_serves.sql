-- Instances with mail, and activities, each of an orchestration and an activity of its own that this node does not have.
INSERT INTO route (no, orchestration, version, pin, refused, is_suspect, has_cancel)
SELECT route + i, 'Unserved-' || i, '1.0.0', '0.2.0', '', 0, 0 FROM counter, temp.numbers;
INSERT INTO work_route (no, activity, tag, is_suspect)
SELECT work_route + i, '=Unserved-' || i, '', 0 FROM counter, temp.numbers;
INSERT INTO mailbox (no, id, execution, last_event, status, pin, name, version, created_at, updated_at, ready, route)
SELECT mailbox + i, 'unserved-' || i, 1, 1, 'Running', '0.2.0', 'Unserved-' || i, '1.0.0', 1, 1, number + i, route + i
FROM counter, temp.numbers;
INSERT INTO execution (mailbox, no, status, pin, started_at)
SELECT mailbox + i, 1, 'Running', '0.2.0', 1 FROM counter, temp.numbers;
INSERT INTO message (mailbox, visible_at, no, class, item)
SELECT mailbox + i, 0, number + i, 0, '{"ExternalRaised":{"instance":"unserved-' || i || '","name":"go","data":""}}'
FROM counter, temp.numbers;
UPDATE counter SET number = number + (SELECT count(*) FROM temp.numbers);
INSERT INTO work (mailbox, execution, activity, no, tag, route, item)
SELECT mailbox + i, 1, 2, number + i, '', work_route + i,
       '{"ActivityExecute":{"instance":"unserved-' || i ||
       '","execution_id":1,"id":2,"name":"Unserved-' || i || '","input":"","session_id":null,"tag":null}}'
FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + (SELECT count(*) FROM temp.numbers),
                   number = number + (SELECT count(*) FROM temp.numbers),
                   route = (SELECT max(no) FROM route), work_route = (SELECT max(no) FROM work_route);
