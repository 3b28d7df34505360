-- Forgets what blocks an instance: refusals, attempts, and the holds of its work. was_blocked is null if there is no such mailbox.
CREATE FUNCTION abide.retry_blocked(
    p_id text, OUT was_blocked boolean, OUT wakes bigint[], OUT due_at bigint, OUT routes bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_locked bigint[] := abide.lock_mailboxes('{}', '{}', ARRAY[p_id]);
    v_mailbox bigint := v_locked[1];
    v_kind text;
    v_held boolean;
    v_work bigint[];
    v_sessions text[];    v_session_routes bigint[];
    v_settled record;
BEGIN
    IF v_mailbox IS NULL THEN
        RETURN;
    END IF;
    v_work := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.mailbox = v_mailbox ORDER BY w.no + 0 FOR UPDATE);
    v_now := abide.now();
    -- A lease that ran out is none.
    UPDATE abide.mailbox AS b SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL, batch_cancel = NULL
    WHERE b.no = v_mailbox AND b.leased_until <= v_now;
    DELETE FROM abide.block AS k WHERE k.mailbox = v_mailbox RETURNING k.kind INTO v_kind;
    was_blocked := v_kind IS NOT NULL;
    UPDATE abide.message AS m SET attempts = 0 WHERE m.mailbox = v_mailbox AND m.place IS NOT NULL AND m.attempts > 0;
    UPDATE abide.message AS m SET attempts = 0 WHERE m.mailbox = v_mailbox AND m.visible_at IS NOT NULL AND m.attempts > 0;
    -- "Is true" keeps all that is held from being looked through.
    v_held := EXISTS (SELECT FROM abide.work AS w WHERE w.no = ANY (v_work) AND (w.held_since IS NOT NULL) IS TRUE);
    WITH freed AS (
        UPDATE abide.work AS w
        SET attempts = 0, route = w.route & ~1::bigint, due_at = CASE WHEN w.held_since IS NULL THEN w.due_at END, held_since = NULL,
            held_detail = NULL, held_build = NULL
        WHERE w.no = ANY (v_work) AND (w.leased_until > v_now) IS NOT TRUE AND (w.attempts > 0 OR w.held_since IS NOT NULL)
        RETURNING w.session, w.route, w.due_at
    )
    SELECT array_agg(f.session) FILTER (WHERE f.session IS NOT NULL), array_agg(f.route) FILTER (WHERE f.session IS NOT NULL),
           coalesce(array_agg(DISTINCT f.route) FILTER (WHERE f.due_at IS NULL), '{}')
    INTO v_sessions, v_session_routes, routes FROM freed AS f;
    IF v_sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, v_session_routes, v_now);
    END IF;
    was_blocked := was_blocked OR v_held;
    v_settled := abide.settle(ARRAY[v_mailbox], NULL, v_now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;
END $$;
