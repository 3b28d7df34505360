-- Of executions, as a JSON array.
-- Plan: turn_of_execution.
DELETE FROM turn WHERE mailbox = ?1 AND execution IN (SELECT value FROM json_each(?2))
