-- Orders by the million: every tenth a root with nine children, three created in the same millisecond, twenty names, three
-- versions, most completed, a fifth running, one in a thousand failed, every fifth with a custom status.
INSERT INTO mailbox (no, id, execution, last_event, status, name, version, parent, parent_execution, parent_event,
                     created_at, updated_at, completed_at)
SELECT mailbox + i, printf('order-%08d', i), 1, 2,
       CASE WHEN i % 1000 = 7 THEN 'Failed' WHEN i % 10 IN (3, 4) THEN 'Running' ELSE 'Completed' END,
       'Order' || (i % 20), '1.' || (i % 3) || '.0',
       CASE WHEN i % 10 > 0 THEN printf('order-%08d', i - i % 10) END,
       CASE WHEN i % 10 > 0 THEN 1 END, CASE WHEN i % 10 > 0 THEN 2 END,
       1600000000000 + i / 3, 1600000000000 + i,
       CASE WHEN i % 1000 <> 7 AND i % 10 IN (3, 4) THEN NULL ELSE 1600000000000 + i END
FROM counter, temp.numbers;
INSERT INTO execution (mailbox, no, status, started_at, completed_at)
SELECT m.no, 1, m.status, m.created_at, m.completed_at
FROM counter, temp.numbers JOIN mailbox AS m ON m.no = counter.mailbox + i;
INSERT INTO custom_status (mailbox, value, version)
SELECT mailbox + i, 'step ' || (i % 7), 1 FROM counter, temp.numbers WHERE i % 5 = 0;
UPDATE counter SET mailbox = mailbox + (SELECT count(*) FROM temp.numbers);
