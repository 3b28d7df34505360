-- Asked before folding, because most executions leave nothing, and folding makes two tables of its own.
SELECT 1 FROM kv_delta WHERE mailbox = ?1 LIMIT 1
