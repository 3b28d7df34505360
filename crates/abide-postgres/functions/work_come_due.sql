-- Work whose delay or lease is over is ready again; sessions whose time is over are free, where work waits in them.
CREATE FUNCTION abide.work_come_due(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.due_at <= p_now
                            ORDER BY w.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
    v_sessions text[];
    v_free text[];
BEGIN
    IF cardinality(v_due) > 0 THEN
        WITH shown AS (
            UPDATE abide.work SET due_at = NULL, lease = NULL, leased_until = NULL WHERE no = ANY (v_due) RETURNING session
        )
        SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL) INTO v_sessions FROM shown;
        IF v_sessions IS NOT NULL THEN
            PERFORM abide.hold_sessions(v_sessions);
            PERFORM abide.settle_lanes(v_sessions, NULL, p_now);
        END IF;
    END IF;

    -- First those whose time seems to be over, then the same under their lock: it may have been renewed.
    v_free := ARRAY(SELECT s.name FROM abide.session AS s
                    WHERE s.name = ANY (ARRAY(SELECT l.session FROM abide.lane AS l
                                              WHERE l.head IS NOT NULL AND l.held_until <= p_now
                                              ORDER BY l.held_until LIMIT 1000))
                      AND s.locked_until <= p_now
                    ORDER BY s.name FOR UPDATE SKIP LOCKED);
    IF cardinality(v_free) > 0 THEN
        PERFORM abide.settle_lanes(v_free, NULL, p_now);
    END IF;
END $$;
