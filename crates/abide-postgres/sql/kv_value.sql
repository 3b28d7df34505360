-- One value: of the delta if it says anything about the key, tombstones included, else of the store.
SELECT CASE WHEN d.key IS NOT NULL THEN d.value ELSE k.value END
FROM abide.instance AS i
LEFT JOIN abide.kv_delta AS d ON d.mailbox = ANY (ARRAY[i.no]) AND d.key = $2
LEFT JOIN abide.kv_store AS k ON k.mailbox = ANY (ARRAY[i.no]) AND k.key = $2
WHERE i.id = $1
