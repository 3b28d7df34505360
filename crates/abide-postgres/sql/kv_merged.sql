-- What people see: the delta over the store.
SELECT d.key, d.value, d.updated_at FROM abide.instance AS i JOIN abide.kv_delta AS d ON d.mailbox = ANY (ARRAY[i.no])
WHERE i.id = $1 AND d.value IS NOT NULL
UNION ALL
SELECT k.key, k.value, k.updated_at FROM abide.instance AS i JOIN abide.kv_store AS k ON k.mailbox = ANY (ARRAY[i.no])
WHERE i.id = $1 AND (SELECT d.key FROM abide.kv_delta AS d WHERE d.mailbox = i.no AND d.key = k.key) IS NULL
