-- Removes starts of children that were not yet born, whose mailboxes are locked, with what was kept because
-- the children would start.
CREATE FUNCTION abide.drop_unborn(p_unborn bigint[], p_now bigint, OUT items bigint, OUT wakes bigint[], OUT due_at bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_cradles bigint[];    -- their mailboxes
    v_void bigint[];       -- those among them whose lease was to bring one to life
    v_settled record;
BEGIN
    items := 0;
    IF cardinality(p_unborn) = 0 THEN
        RETURN;
    END IF;
    v_cradles := ARRAY(SELECT DISTINCT m.mailbox FROM abide.message AS m WHERE m.no = ANY (p_unborn));
    -- A turn that was to bring a child to life is not to be committed.
    v_void := ARRAY(SELECT b.no FROM abide.mailbox AS b
                    WHERE b.no = ANY (v_cradles) AND b.execution = 0 AND b.leased_until > p_now
                      AND (SELECT true FROM abide.message AS m WHERE m.no = ANY (p_unborn) AND m.mailbox = b.no
                                  AND (m.place <= b.batch_to OR m.place IN (b.batch_first, b.batch_cancel)) ORDER BY m.no LIMIT 1));
    DELETE FROM abide.message WHERE no = ANY (p_unborn);
    -- What only an instance can have asked for was kept because the child would start.
    WITH cradle AS MATERIALIZED (
        SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (v_cradles) AND b.execution = 0
            AND (SELECT true FROM abide.message AS s WHERE s.mailbox = b.no AND s.class IN (1, 2) ORDER BY s.place LIMIT 1) IS NULL
    ), visible AS (
        DELETE FROM abide.message AS m USING cradle AS c
        WHERE m.mailbox = ANY (ARRAY[c.no]) AND m.place IS NOT NULL AND m.class IN (3, 4, 6) RETURNING 1
    ), hidden AS (
        DELETE FROM abide.message AS m USING cradle AS c
        WHERE m.mailbox = ANY (ARRAY[c.no]) AND m.visible_at IS NOT NULL AND m.class IN (3, 4, 6) RETURNING 1
    )
    SELECT cardinality(p_unborn) + (SELECT count(*) FROM visible) + (SELECT count(*) FROM hidden) INTO items;
    UPDATE abide.mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL, batch_cancel = NULL WHERE no = ANY (v_void);
    PERFORM abide.await_start(v_cradles, p_now);
    v_settled := abide.settle(v_cradles, NULL, p_now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;
END $$;
