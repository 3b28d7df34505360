-- Plan: turn_of_execution.
SELECT coalesce(sum(length), 0) FROM turn WHERE mailbox = ?1 AND execution = ?2
