-- Work of one session, which somebody else owns.
INSERT INTO mailbox (no, id) SELECT mailbox + 1, 'in-session' FROM counter;
INSERT INTO session (name, owner, locked_until, last_active_at, held)
VALUES ('foreign', 'other', 9000000000000000, 1, 1);
INSERT INTO work (mailbox, execution, activity, no, tag, session, item)
SELECT mailbox + 1, 1, i, number + i, '', 'foreign',
       '{"ActivityExecute":{"instance":"in-session","execution_id":1,"id":' || i ||
       ',"name":"charge","input":"","session_id":"foreign","tag":null}}'
FROM counter, temp.numbers;
INSERT INTO lane (session, tag, holder, head) SELECT 'foreign', '', '=other', number + 1 FROM counter;
UPDATE counter SET mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
