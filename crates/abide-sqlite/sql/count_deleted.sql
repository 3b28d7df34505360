-- What a deleted mailbox still has: executions, events, and messages with work.
-- Plan: turn_of_execution.
SELECT (SELECT count(*) FROM execution WHERE mailbox = ?1),
       (SELECT CAST(total(length) AS INTEGER) FROM turn WHERE mailbox = ?1),
       (SELECT count(*) FROM message WHERE mailbox = ?1) + (SELECT count(*) FROM work WHERE mailbox = ?1)
