-- Plan: turn_of_execution.
DELETE FROM turn WHERE mailbox = ?1
