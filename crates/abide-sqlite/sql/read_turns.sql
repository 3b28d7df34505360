-- The turns of an execution behind an event.
-- Plan: turn_of_execution.
SELECT events FROM turn WHERE mailbox = ?1 AND execution = ?2 AND last_event > ?3 ORDER BY first_event
