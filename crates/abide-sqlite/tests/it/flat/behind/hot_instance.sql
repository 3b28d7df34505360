-- One instance that is leased, with all of the mail behind its lease.
INSERT INTO mailbox (no, id, execution, last_event, status, name, version, created_at, updated_at,
                     lease, leased_until, owner, batch)
SELECT mailbox + 1, 'hot', 1, 1, 'Running', 'Order', '1.0.0', 1, 1, 7, 9000000000000000, 0, number + 1 FROM counter;
INSERT INTO message (mailbox, visible_at, no, class, item)
SELECT mailbox + 1, 0, number + i, 0, '{"ExternalRaised":{"instance":"hot","name":"go","data":""}}'
FROM counter, temp.numbers;
UPDATE counter SET mailbox = mailbox + 1, number = number + (SELECT count(*) FROM temp.numbers);
