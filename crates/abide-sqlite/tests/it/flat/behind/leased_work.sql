-- Work that others are at.
INSERT INTO mailbox (no, id) SELECT mailbox + 1, 'busy' FROM counter;
INSERT INTO work (mailbox, execution, activity, no, tag, attempts, lease, leased_until, owner, item)
SELECT mailbox + 1, 1, i, number + i, '', 1, i, 9000000000000000, 0,
       '{"ActivityExecute":{"instance":"busy","execution_id":1,"id":' || i ||
       ',"name":"charge","input":"","session_id":null,"tag":null}}'
FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
