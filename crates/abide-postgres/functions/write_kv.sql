-- Changes of the key-value stores: clear, change, fold. p_mailboxes as in write_executions.
CREATE FUNCTION abide.write_kv(p_turns abide.new_turn[], p_values abide.new_value[], p_mailboxes bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_clear bigint[];
    v_fold bigint[];
BEGIN
    SELECT array_agg(p_mailboxes[t.turn]) FILTER (WHERE t.clears_kv), array_agg(p_mailboxes[t.turn]) FILTER (WHERE t.folds_kv)
    INTO v_clear, v_fold FROM unnest(p_turns) AS t;
    IF cardinality(v_clear) > 0 THEN
        INSERT INTO abide.kv_delta (mailbox, key, updated_at)
        SELECT mailbox, key, 0 FROM abide.kv_store WHERE mailbox = ANY (v_clear)
        UNION SELECT mailbox, key, 0 FROM abide.kv_delta WHERE mailbox = ANY (v_clear)
        ON CONFLICT (mailbox, key) DO UPDATE SET value = NULL, updated_at = 0;
    END IF;
    IF cardinality(p_values) > 0 THEN
        INSERT INTO abide.kv_delta (mailbox, key, value, updated_at)
        SELECT p_mailboxes[v.turn], v.key, v.value, v.updated_at FROM unnest(p_values) AS v
        WHERE p_mailboxes[v.turn] IS NOT NULL
        ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
    END IF;
    IF cardinality(v_fold) > 0 AND EXISTS (SELECT FROM abide.kv_delta AS d WHERE d.mailbox = ANY (v_fold)) THEN
        DELETE FROM abide.kv_store AS k USING abide.kv_delta AS d
        WHERE d.mailbox = ANY (v_fold) AND d.value IS NULL AND k.mailbox = ANY (ARRAY[d.mailbox]) AND k.key = d.key;
        INSERT INTO abide.kv_store (mailbox, key, value, updated_at)
        SELECT d.mailbox, d.key, d.value, d.updated_at FROM abide.kv_delta AS d
        WHERE d.mailbox = ANY (v_fold) AND d.value IS NOT NULL
        ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
        DELETE FROM abide.kv_delta WHERE mailbox = ANY (v_fold);
    END IF;
END $$;
