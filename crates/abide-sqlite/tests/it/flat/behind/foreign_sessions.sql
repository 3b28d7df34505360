-- Work of many sessions, one activity each, all of which somebody else owns.
INSERT INTO mailbox (no, id) SELECT mailbox + 1, 'in-sessions' FROM counter;
INSERT INTO session (name, owner, locked_until, last_active_at, held)
SELECT 'foreign-' || i, 'other', 9000000000000000, 1, 1 FROM temp.numbers;
INSERT INTO work_route (activity, tag, is_suspect) VALUES ('=charge', '', 0);
INSERT INTO work (mailbox, execution, activity, no, tag, route, session, item)
SELECT mailbox + 1, 1, i, number + i, '', (SELECT max(no) FROM work_route), 'foreign-' || i,
       '{"ActivityExecute":{"instance":"in-sessions","execution_id":1,"id":' || i ||
       ',"name":"charge","input":"","session_id":"foreign-' || i || '","tag":null}}'
FROM counter, temp.numbers;
INSERT INTO lane (session, route, holder, head)
SELECT 'foreign-' || i, (SELECT max(no) FROM work_route), '=other', number + i FROM counter, temp.numbers;
UPDATE counter SET work_route = (SELECT max(no) FROM work_route), mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
