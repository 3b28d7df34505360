-- Without those of deleted mailboxes, whose rows are still being removed.
SELECT (SELECT count(*) FROM execution)
     - (SELECT count(*) FROM execution WHERE mailbox IN (SELECT mailbox FROM tombstone))
