-- Fold, first: tombstones take keys out of the store.
DELETE FROM kv_store WHERE mailbox = ?1 AND key IN (SELECT key FROM kv_delta WHERE mailbox = ?1 AND value IS NULL)
