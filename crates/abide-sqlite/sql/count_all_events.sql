-- Plan: turn_of_execution.
SELECT coalesce(sum(length), 0) FROM turn INDEXED BY turn_of_execution
