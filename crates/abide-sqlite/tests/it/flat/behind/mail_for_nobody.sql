-- Mail for instances that never started.
INSERT INTO mailbox (no, id) SELECT mailbox + i, 'nobody-' || i FROM counter, temp.numbers;
INSERT INTO message (mailbox, visible_at, no, class, item)
SELECT mailbox + i, 0, number + i, 0, '{"ExternalRaised":{"instance":"nobody-' || i || '","name":"go","data":""}}'
FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + (SELECT count(*) FROM temp.numbers),
                   number = number + (SELECT count(*) FROM temp.numbers);
