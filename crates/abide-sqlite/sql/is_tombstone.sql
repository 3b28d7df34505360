SELECT 1 FROM tombstone WHERE mailbox = ?1
