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
    v_dropped record;
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

    v_dropped := abide.drop_unborn(ARRAY(SELECT u.no FROM abide.unborn(p_ids) AS u), p_now);
    items := items + v_dropped.items;
    wakes := v_dropped.wakes;    due_at := v_dropped.due_at;
END $$;
