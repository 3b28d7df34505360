-- The same for leases on work. Its attempt was counted when it was leased, or is that of a suspect whose code did not run. Says under which routes there is work now, and when more
-- comes.
CREATE FUNCTION abide.abandon_work(
    p_work bigint[], p_nonces bigint[], p_delays_ms bigint[], p_ignored boolean[],
    OUT outcomes text[], OUT routes bigint[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_held bigint[];
    v_sessions text[];    v_session_routes bigint[];
BEGIN
    PERFORM FROM abide.work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE;
    v_now := abide.now();
    v_held := ARRAY(SELECT w.no FROM unnest(p_work, p_nonces) AS a (no, nonce)
                    JOIN abide.work AS w ON w.no = ANY (ARRAY[a.no]) AND w.lease = a.nonce AND w.leased_until > v_now);
    WITH back AS (
        UPDATE abide.work AS w
        SET lease = NULL, leased_until = NULL, due_at = abide.later(v_now, a.delay),
            attempts = greatest(w.attempts + (NOT w.lease_counts)::integer - a.ignored::integer, 0),
            route = abide.route_after(w.route, w.attempts + (NOT w.lease_counts)::integer - a.ignored::integer, w.is_unreadable)
        FROM unnest(p_work, p_delays_ms, p_ignored) AS a (no, delay, ignored)
        WHERE w.no = ANY (ARRAY[a.no]) AND w.no = ANY (v_held) RETURNING w.session, w.route, w.due_at
    )
    SELECT array_agg(session) FILTER (WHERE session IS NOT NULL), array_agg(route) FILTER (WHERE session IS NOT NULL),
           coalesce(array_agg(DISTINCT route) FILTER (WHERE due_at IS NULL), '{}'), min(due_at)
    INTO v_sessions, v_session_routes, routes, due_at FROM back;
    IF v_sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, v_session_routes, v_now);
    END IF;
    outcomes := ARRAY(SELECT CASE WHEN a.no = ANY (v_held) THEN 'ok' ELSE 'lost' END
                      FROM unnest(p_work) WITH ORDINALITY AS a (no, place) ORDER BY a.place);
END $$;
