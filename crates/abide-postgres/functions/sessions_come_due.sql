-- Sessions whose time is over are free, where work waits in them.
CREATE FUNCTION abide.sessions_come_due(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- First those whose time seems to be over, then the same under their lock: it may have been renewed.
    v_free text[] := ARRAY(SELECT s.name FROM abide.session AS s
                           WHERE s.name = ANY (ARRAY(SELECT l.session FROM abide.lane AS l
                                                     WHERE l.head IS NOT NULL AND l.held_until <= p_now
                                                     ORDER BY l.held_until LIMIT 1000))
                             AND s.locked_until <= p_now
                           ORDER BY s.name FOR UPDATE SKIP LOCKED);
BEGIN
    IF cardinality(v_free) > 0 THEN
        PERFORM abide.settle_lanes(v_free, NULL, p_now);
    END IF;
END $$;
