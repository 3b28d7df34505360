-- Work whose delay or lease is over is ready again.
CREATE FUNCTION abide.work_come_due(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.due_at <= p_now AND w.held_since IS NULL
                            ORDER BY w.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
    v_sessions text[];    v_routes bigint[];
BEGIN
    IF cardinality(v_due) > 0 THEN
        WITH shown AS (
            UPDATE abide.work SET due_at = NULL, lease = NULL, leased_until = NULL WHERE no = ANY (v_due) RETURNING session, route
        )
        SELECT array_agg(session) FILTER (WHERE session IS NOT NULL), array_agg(route) FILTER (WHERE session IS NOT NULL)
        INTO v_sessions, v_routes FROM shown;
        IF v_sessions IS NOT NULL THEN
            PERFORM abide.hold_sessions(v_sessions);
            PERFORM abide.settle_lanes(v_sessions, v_routes, p_now);
        END IF;
    END IF;
END $$;
