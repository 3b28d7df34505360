-- What the next rows weigh that remove_turns removes: see size_of_mailbox.
-- Plan: turn_of_execution.
SELECT 1 + octet_length(events) / 8192 FROM turn WHERE mailbox = ?1 ORDER BY execution, first_event LIMIT ?2
