-- Plan: turn_of_execution.
SELECT CAST(total(length) AS INTEGER) FROM turn INDEXED BY turn_of_execution
