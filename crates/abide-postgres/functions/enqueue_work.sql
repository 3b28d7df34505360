-- Enqueues an activity without a turn, as tests do.
CREATE FUNCTION abide.enqueue_work(p_work abide.new_work[], OUT routes bigint[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_names text[] := ARRAY(SELECT w.instance FROM unnest(p_work) AS w);
    v_sessions text[];
    v_session_routes bigint[];
BEGIN
    PERFORM abide.register(v_names);
    PERFORM abide.lock_mailboxes('{}', v_names, '{}');
    SELECT q.routes, q.sessions, q.session_routes INTO routes, v_sessions, v_session_routes
    FROM abide.write_work(p_work, '{}', NULL, NULL, abide.now()) AS q;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, v_session_routes, abide.now());
    END IF;
END $$;
