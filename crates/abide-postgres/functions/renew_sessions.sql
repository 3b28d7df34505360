-- Extends the sessions of these owners that are still theirs and in use; returns how many. With p_activities or p_tags,
-- which are what the owners can run, it leaves out a session that only holds up work of other nodes: none of its work is
-- leased, some waits, and the owners can run none of it. Both are as columns hold them; null is every one.
CREATE FUNCTION abide.renew_sessions(
    p_owners text[], p_extend_ms bigint, p_idle_ms bigint, p_activities text[], p_tags text[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_held text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    -- The connection that renews does nothing else meanwhile; the caller tries again.
    PERFORM set_config('lock_timeout', '500ms', true);
    v_held := ARRAY(SELECT s.name FROM abide.session AS s WHERE s.owner = ANY (p_owners) ORDER BY s.name || '' FOR UPDATE);
    v_now := abide.now();
    v_held := ARRAY(SELECT s.name FROM abide.session AS s
                    WHERE s.name = ANY (v_held) AND s.owner = ANY (p_owners) AND s.locked_until > v_now
                      AND s.last_active_at > v_now - p_idle_ms);
    IF p_activities IS NOT NULL OR p_tags IS NOT NULL THEN
        v_held := ARRAY(
            SELECT h.name FROM unnest(v_held) AS h (name)
            WHERE NOT EXISTS (SELECT FROM abide.work AS w WHERE w.session = ANY (ARRAY[h.name]) AND w.held_since IS NULL)
               OR EXISTS (SELECT FROM abide.work AS w
                          LEFT JOIN abide.work_route AS r ON r.no = (w.route & 274877906943) >> 1
                          WHERE w.session = ANY (ARRAY[h.name]) AND w.held_since IS NULL
                            AND (w.leased_until > v_now
                                 OR ((p_activities IS NULL OR r.activity = ANY (p_activities) OR r.activity = '')
                                     AND (p_tags IS NULL OR w.tag = ANY (p_tags))))));
    END IF;
    UPDATE abide.session SET locked_until = greatest(locked_until, abide.later(v_now, p_extend_ms)) WHERE name = ANY (v_held);
    PERFORM abide.settle_lanes(v_held, NULL, v_now);
    RETURN cardinality(v_held);
END $$;
