-- The last event of an execution that is not the current one.
-- Plan: turn_of_execution.
SELECT last_event FROM turn WHERE mailbox = ?1 AND execution = ?2 ORDER BY first_event DESC LIMIT 1
