-- Work of one session, which somebody else owns.
INSERT INTO mailbox (no, id) SELECT mailbox + 1, 'in-session' FROM counter;
INSERT INTO session (name, owner, locked_until, last_active_at, held)
VALUES ('foreign', 'other', 9000000000000000, 1, 1);
INSERT INTO work_route (activity, tag, is_suspect) VALUES ('=charge', '', 0);
INSERT INTO work (mailbox, execution, activity, no, tag, route, session, item)
SELECT mailbox + 1, 1, i, number + i, '', (SELECT max(no) FROM work_route), 'foreign',
       '{"ActivityExecute":{"instance":"in-session","execution_id":1,"id":' || i ||
       ',"name":"charge","input":"","session_id":"foreign","tag":null}}'
FROM counter, temp.numbers;
INSERT INTO lane (session, route, holder, head)
SELECT 'foreign', (SELECT max(no) FROM work_route), '=other', number + 1 FROM counter;
UPDATE counter SET work_route = (SELECT max(no) FROM work_route), mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
