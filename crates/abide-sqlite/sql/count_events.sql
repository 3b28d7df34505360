SELECT coalesce(sum(json_array_length(events)), 0) FROM turn WHERE mailbox = ?1 AND execution = ?2 AND json_valid(events)
