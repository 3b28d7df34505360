-- Change: no value is a tombstone.
INSERT INTO kv_delta (mailbox, key, value, updated_at) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
