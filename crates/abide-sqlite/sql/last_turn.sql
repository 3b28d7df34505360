-- The turn that an execution ended with. `first_event` ascends with the turns.
-- Plan: turn_of_execution.
SELECT events FROM turn WHERE mailbox = ?1 AND execution = ?2 ORDER BY first_event DESC LIMIT 1
