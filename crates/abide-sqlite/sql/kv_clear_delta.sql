-- Clear, first half: a tombstone for every key of the delta.
UPDATE kv_delta SET value = NULL WHERE mailbox = ?1
