-- Plan: turn_of_execution.
DELETE FROM turn
WHERE no IN (SELECT no FROM turn WHERE mailbox = ?1 ORDER BY execution, first_event LIMIT ?2)
