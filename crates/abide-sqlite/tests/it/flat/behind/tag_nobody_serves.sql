-- Work of one tag.
INSERT INTO mailbox (no, id) SELECT mailbox + 1, 'tagged' FROM counter;
INSERT INTO work (mailbox, execution, activity, no, tag, item)
SELECT mailbox + 1, 1, i, number + i, '=nobody',
       '{"ActivityExecute":{"instance":"tagged","execution_id":1,"id":' || i ||
       ',"name":"charge","input":"","session_id":null,"tag":"nobody"}}'
FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
