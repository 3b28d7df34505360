-- Plan: turn_of_execution.
SELECT CAST(total(length) AS INTEGER) FROM turn WHERE mailbox = ?1 AND execution = ?2
