-- The rows of these were counted.
UPDATE abide.tombstone SET held_until = 0 WHERE mailbox = ANY ($1)
