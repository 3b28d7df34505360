-- Extends the sessions of these owners that are still theirs and in use; says how many.
CREATE FUNCTION abide.renew_sessions(p_owners text[], p_extend_ms bigint, p_idle_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_held text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    -- The connection that renews does nothing else meanwhile; whoever asks asks again.
    PERFORM set_config('lock_timeout', '500ms', true);
    v_held := ARRAY(SELECT s.name FROM abide.session AS s WHERE s.owner = ANY (p_owners) ORDER BY s.name || '' FOR UPDATE);
    v_now := abide.now();
    v_held := ARRAY(SELECT s.name FROM abide.session AS s
                    WHERE s.name = ANY (v_held) AND s.owner = ANY (p_owners) AND s.locked_until > v_now
                      AND s.last_active_at > v_now - p_idle_ms);
    UPDATE abide.session SET locked_until = greatest(locked_until, abide.later(v_now, p_extend_ms)) WHERE name = ANY (v_held);
    PERFORM abide.settle_lanes(v_held, NULL, v_now);
    RETURN cardinality(v_held);
END $$;
