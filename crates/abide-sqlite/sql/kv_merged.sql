-- What people see: the delta over the store.
SELECT key, value, updated_at FROM kv_delta WHERE mailbox = ?1 AND value IS NOT NULL
UNION ALL
SELECT key, value, updated_at FROM kv_store
WHERE mailbox = ?1 AND key NOT IN (SELECT key FROM kv_delta WHERE mailbox = ?1)
