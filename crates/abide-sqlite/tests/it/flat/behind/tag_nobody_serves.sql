-- Work of one tag.
INSERT INTO mailbox (no, id) SELECT mailbox + 1, 'tagged' FROM counter;
INSERT INTO work_route (activity, tag, is_suspect) VALUES ('=charge', '=nobody', 0);
INSERT INTO work (mailbox, execution, activity, no, tag, route, item)
SELECT mailbox + 1, 1, i, number + i, '=nobody', (SELECT max(no) FROM work_route),
       '{"ActivityExecute":{"instance":"tagged","execution_id":1,"id":' || i ||
       ',"name":"charge","input":"","session_id":null,"tag":"nobody"}}'
FROM counter, temp.numbers;
UPDATE counter SET work_route = (SELECT max(no) FROM work_route), mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
