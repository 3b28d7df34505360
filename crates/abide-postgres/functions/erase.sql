-- Deletes mailboxes, which are locked with the mailboxes of their unborn children, with everything they have: executions, mail, work,
-- values, leases, dead letters; and children that were not yet born, which would come to life as orphans. p_ids are names to be
-- forgotten, also those that have no mailbox. At most p_rows rows of history, mail and values are removed: mailboxes with more are held for
-- the caller, who counts what they have, and leave a tombstone.
CREATE FUNCTION abide.erase(
    p_mailboxes bigint[], p_ids text[], p_now bigint, p_rows bigint,
    OUT instances bigint, OUT executions bigint, OUT events bigint, OUT items bigint, OUT stolen text[], OUT because text[],
    OUT wakes bigint[], OUT due_at bigint, OUT held bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_work bigint[] := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.mailbox = ANY (p_mailboxes) ORDER BY w.no + 0 FOR UPDATE);
    v_sessions text[];
    v_unborn bigint[];
    v_cradles bigint[];    -- the mailboxes of the unborn
    v_void bigint[];       -- those among them whose lease was to bring one to life
    v_count bigint;
    v_settled record;
    v_small bigint[];      -- those that this call removes with all they have
BEGIN
    SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_sessions
    FROM abide.take_back(v_work, array_fill('deleted'::text, ARRAY[cardinality(v_work)]), p_now) AS g;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, NULL, p_now);
    END IF;
    v_small := ARRAY(
        SELECT m.no FROM (SELECT m.no, sum(m.size) OVER (ORDER BY m.size, m.no) AS rows
                          FROM (SELECT m AS no, abide.size_of(m, p_rows + 1) AS size FROM unnest(p_mailboxes) AS m) AS m) AS m
        WHERE m.rows <= p_rows);
    held := ARRAY(SELECT m FROM unnest(p_mailboxes) AS m EXCEPT SELECT m FROM unnest(v_small) AS m);
    INSERT INTO abide.tombstone (mailbox, held_until) SELECT h, p_now + 60000 FROM unnest(held) AS h;
    instances := (SELECT count(DISTINCT e.mailbox) FROM abide.execution AS e WHERE e.mailbox = ANY (v_small));
    WITH gone AS (DELETE FROM abide.turn AS t WHERE t.mailbox = ANY (v_small) RETURNING t.length)
    SELECT coalesce(sum(length), 0) INTO events FROM gone;
    WITH gone AS (DELETE FROM abide.execution AS e WHERE e.mailbox = ANY (v_small) RETURNING 1)
    SELECT count(*) INTO executions FROM gone;
    DELETE FROM abide.kv_delta WHERE mailbox = ANY (v_small);
    DELETE FROM abide.kv_store WHERE mailbox = ANY (v_small);
    WITH visible AS (DELETE FROM abide.message AS m WHERE m.mailbox = ANY (v_small) AND m.place IS NOT NULL RETURNING 1),
         hidden AS (DELETE FROM abide.message AS m WHERE m.mailbox = ANY (v_small) AND m.visible_at IS NOT NULL RETURNING 1)
    SELECT cardinality(v_work) + (SELECT count(*) FROM visible) + (SELECT count(*) FROM hidden) INTO items;
    DELETE FROM abide.block WHERE mailbox = ANY (p_mailboxes);
    DELETE FROM abide.mailbox WHERE no = ANY (p_mailboxes);
    DELETE FROM abide.instance WHERE no = ANY (p_mailboxes);
    DELETE FROM abide.dead_letter WHERE instance = ANY (p_ids);

    SELECT coalesce(array_agg(u.no), '{}'), coalesce(array_agg(DISTINCT u.mailbox), '{}') INTO v_unborn, v_cradles
    FROM abide.unborn(p_ids) AS u;
    IF cardinality(v_unborn) = 0 THEN
        RETURN;
    END IF;
    -- A turn that was to bring a child to life is not to be committed.
    v_void := ARRAY(SELECT b.no FROM abide.mailbox AS b
                    WHERE b.no = ANY (v_cradles) AND b.execution = 0 AND b.leased_until > p_now
                      AND (SELECT true FROM abide.message AS m WHERE m.no = ANY (v_unborn) AND m.mailbox = b.no
                                  AND (m.place <= b.batch_to OR m.place = b.batch_first) ORDER BY m.no LIMIT 1));
    DELETE FROM abide.message WHERE no = ANY (v_unborn);
    items := items + cardinality(v_unborn);
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
    SELECT (SELECT count(*) FROM visible) + (SELECT count(*) FROM hidden) INTO v_count;
    items := items + v_count;
    UPDATE abide.mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL WHERE no = ANY (v_void);
    PERFORM abide.await_start(v_cradles, p_now);
    v_settled := abide.settle(v_cradles, NULL, p_now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;
END $$;
