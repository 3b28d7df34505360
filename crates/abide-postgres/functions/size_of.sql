-- How many rows a mailbox has beside its own and its work; at most p_most of each kind are counted.
CREATE FUNCTION abide.size_of(p_mailbox bigint, p_most bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT (SELECT count(*) FROM (SELECT FROM abide.turn AS t WHERE t.mailbox = p_mailbox LIMIT p_most) AS t)
         + (SELECT count(*) FROM (SELECT FROM abide.execution AS e WHERE e.mailbox = p_mailbox LIMIT p_most) AS e)
         + (SELECT count(*) FROM (SELECT FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.place IS NOT NULL LIMIT p_most) AS m)
         + (SELECT count(*) FROM (SELECT FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.visible_at IS NOT NULL
                                  LIMIT p_most) AS m)
         + (SELECT count(*) FROM (SELECT FROM abide.kv_delta AS k WHERE k.mailbox = p_mailbox LIMIT p_most) AS k)
         + (SELECT count(*) FROM (SELECT FROM abide.kv_store AS k WHERE k.mailbox = p_mailbox LIMIT p_most) AS k)
$$;
