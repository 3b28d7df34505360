-- The rows were counted.
UPDATE tombstone SET held_until = 0 WHERE mailbox = ?1
