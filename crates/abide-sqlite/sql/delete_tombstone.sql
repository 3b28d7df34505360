DELETE FROM tombstone WHERE mailbox = ?1
