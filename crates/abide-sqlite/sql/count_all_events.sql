-- Without those of deleted mailboxes, whose rows are still being removed.
-- Plan: turn_of_execution.
SELECT CAST((SELECT total(length) FROM turn)
          - (SELECT total(length) FROM turn WHERE mailbox IN (SELECT mailbox FROM tombstone)) AS INTEGER)
