-- Changes of the key-value stores: clear, change, fold. p_mailboxes as in write_executions.
CREATE FUNCTION abide.write_kv(p_turns abide.new_turn[], p_mailboxes bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_turn abide.new_turn;
    v_mailbox bigint;
BEGIN
    FOREACH v_turn IN ARRAY p_turns LOOP
        v_mailbox := p_mailboxes[v_turn.turn];
        CONTINUE WHEN v_mailbox IS NULL;
        IF v_turn.clears_kv THEN
            INSERT INTO abide.kv_delta (mailbox, key, updated_at)
            SELECT mailbox, key, 0 FROM abide.kv_store WHERE mailbox = v_mailbox
            UNION SELECT mailbox, key, 0 FROM abide.kv_delta WHERE mailbox = v_mailbox
            ON CONFLICT (mailbox, key) DO UPDATE SET value = NULL, updated_at = 0;
        END IF;
        IF cardinality(v_turn.changes) > 0 THEN
            INSERT INTO abide.kv_delta (mailbox, key, value, updated_at)
            SELECT v_mailbox, c.key, c.value, c.updated_at FROM unnest(v_turn.changes) AS c
            ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
        END IF;
        IF v_turn.folds_kv AND EXISTS (SELECT FROM abide.kv_delta AS d WHERE d.mailbox = v_mailbox) THEN
            DELETE FROM abide.kv_store AS k USING abide.kv_delta AS d
            WHERE d.mailbox = v_mailbox AND d.value IS NULL AND k.mailbox = v_mailbox AND k.key = ANY (ARRAY[d.key]);
            INSERT INTO abide.kv_store (mailbox, key, value, updated_at)
            SELECT d.mailbox, d.key, d.value, d.updated_at FROM abide.kv_delta AS d
            WHERE d.mailbox = v_mailbox AND d.value IS NOT NULL
            ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
            DELETE FROM abide.kv_delta WHERE mailbox = v_mailbox;
        END IF;
    END LOOP;
END $$;
