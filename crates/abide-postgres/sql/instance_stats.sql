-- What the size of an instance is computed from, of one moment. No row if there is no such instance.
SELECT ARRAY(SELECT t.events FROM abide.turn AS t WHERE t.mailbox = b.no AND t.execution = b.execution ORDER BY t.last_event),
       ARRAY(SELECT d.value FROM abide.kv_delta AS d WHERE d.mailbox = b.no AND d.value IS NOT NULL)
       || ARRAY(SELECT k.value FROM abide.kv_store AS k WHERE k.mailbox = b.no
                AND (SELECT d.key FROM abide.kv_delta AS d WHERE d.mailbox = b.no AND d.key = k.key) IS NULL)
FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
WHERE i.id = $1 AND b.execution > 0
