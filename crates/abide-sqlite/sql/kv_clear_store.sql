-- A tombstone for every key of the store.
INSERT INTO kv_delta (mailbox, key, value, updated_at)
SELECT mailbox, key, NULL, 0 FROM kv_store WHERE mailbox = ?1
ON CONFLICT (mailbox, key) DO UPDATE SET value = NULL
