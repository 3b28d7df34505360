-- What earlier executions of a leased instance left; one row without a key if that is nothing. No row if this is not the instance of
-- that name any more.
SELECT k.key, k.value, k.updated_at FROM abide.instance AS i LEFT JOIN abide.kv_store AS k ON k.mailbox = ANY (ARRAY[i.no])
WHERE i.no = $1 AND i.id = $2
