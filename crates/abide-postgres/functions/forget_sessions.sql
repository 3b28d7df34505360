-- Forgets sessions that nobody owns any more and that have no work; says how many. Those that were never claimed do not count.
CREATE FUNCTION abide.forget_sessions() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := abide.now();
    v_idle text[] := ARRAY(SELECT s.name FROM abide.session AS s
                           WHERE (s.locked_until > v_now) IS NOT TRUE
                             AND NOT EXISTS (SELECT FROM abide.work AS w WHERE w.session = ANY (ARRAY[s.name]))
                           ORDER BY s.name FOR UPDATE SKIP LOCKED);
    v_count bigint;
BEGIN
    -- Under the lock once more: work may have come while we looked.
    v_idle := ARRAY(SELECT s.name FROM abide.session AS s
                    WHERE s.name = ANY (v_idle) AND (s.locked_until > v_now) IS NOT TRUE
                      AND NOT EXISTS (SELECT FROM abide.work AS w WHERE w.session = ANY (ARRAY[s.name])));
    DELETE FROM abide.lane WHERE session = ANY (v_idle);
    WITH gone AS (DELETE FROM abide.session WHERE name = ANY (v_idle) RETURNING last_active_at)
    SELECT count(last_active_at) INTO v_count FROM gone;
    RETURN v_count;
END $$;
