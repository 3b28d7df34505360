-- How many rows a mailbox has beside its own; at most ?2 of each kind are counted.
-- Plan: turn_of_execution.
SELECT (SELECT count(*) FROM (SELECT 1 FROM turn WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM execution WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM message WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM work WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM kv_store WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT count(*) FROM (SELECT 1 FROM kv_delta WHERE mailbox = ?1 LIMIT ?2))
