-- An unreadable turn is counted by its ids.
-- Plan: turn_of_execution.
SELECT coalesce(sum(CASE WHEN json_valid(events) THEN json_array_length(events) ELSE last_event - first_event + 1 END), 0)
FROM turn
WHERE mailbox = ?1 AND execution = ?2
