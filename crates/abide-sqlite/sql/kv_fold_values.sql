-- Fold, second: values go to the store.
INSERT INTO kv_store (mailbox, key, value, updated_at)
SELECT mailbox, key, value, updated_at FROM kv_delta WHERE mailbox = ?1 AND value IS NOT NULL
ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
