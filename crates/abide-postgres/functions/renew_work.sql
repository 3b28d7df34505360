-- The same for leases on work; their sessions were active now, but for those that another holds: whoever does is about to say so himself, or
-- the next renewal will.
CREATE FUNCTION abide.renew_work(p_work bigint[], p_nonces bigint[], p_extend_ms bigint[], p_waits boolean, p_node bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_there bigint[];
    v_locked bigint[];
    v_held bigint[];
    v_sessions text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF p_waits THEN
        PERFORM set_config('lock_timeout', '500ms', true);
        v_locked := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE);
    ELSE
        v_locked := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE SKIP LOCKED);
    END IF;
    v_now := abide.now();
    v_there := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.no = ANY (p_work));
    WITH renewed AS (
        UPDATE abide.work AS w
        SET leased_until = greatest(w.leased_until, abide.later(v_now, r.extend)),
            due_at = greatest(w.leased_until, abide.later(v_now, r.extend))
        FROM unnest(p_work, p_nonces, p_extend_ms) AS r (no, nonce, extend)
        WHERE w.no = ANY (ARRAY[r.no]) AND r.no = ANY (v_locked) AND w.lease = r.nonce AND w.leased_until > v_now RETURNING w.no, w.session
    )
    SELECT coalesce(array_agg(no), '{}'), array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL)
    INTO v_held, v_sessions FROM renewed;
    UPDATE abide.node AS n SET seen_at = v_now WHERE n.owner = p_node AND n.seen_at <= v_now - 10000;
    IF v_sessions IS NOT NULL THEN
        v_sessions := ARRAY(SELECT s.name FROM abide.session AS s WHERE s.name = ANY (v_sessions) ORDER BY s.name FOR UPDATE SKIP LOCKED);
        PERFORM abide.use_sessions(v_sessions, v_now);
    END IF;
    RETURN ARRAY(SELECT CASE WHEN r.no = ANY (v_held) THEN 'ok'
                             WHEN r.no = ANY (v_there) AND r.no <> ALL (v_locked) THEN 'busy'
                             ELSE 'lost' END
                 FROM unnest(p_work) WITH ORDINALITY AS r (no, place) ORDER BY r.place);
END $$;
