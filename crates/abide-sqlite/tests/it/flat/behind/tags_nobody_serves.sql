-- Work of many tags, one activity each.
INSERT INTO mailbox (no, id) SELECT mailbox + 1, 'tagged' FROM counter;
INSERT INTO work_route (no, activity, tag, is_suspect)
SELECT work_route + i, '=charge', '=nobody-' || i, 0 FROM counter, temp.numbers;
INSERT INTO work (mailbox, execution, activity, no, tag, route, item)
SELECT mailbox + 1, 1, i, number + i, '=nobody-' || i, work_route + i,
       '{"ActivityExecute":{"instance":"tagged","execution_id":1,"id":' || i ||
       ',"name":"charge","input":"","session_id":null,"tag":"nobody-' || i || '"}}'
FROM counter, temp.numbers;
UPDATE counter SET work_route = (SELECT max(no) FROM work_route), mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
