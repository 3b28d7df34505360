-- Brings the lanes of these sessions, which the caller holds, up to date. The routes name lanes that may be new.
CREATE FUNCTION abide.settle_lanes(p_sessions text[], p_routes bigint[], p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abide.lane (session, route)
    SELECT DISTINCT s, r FROM unnest(p_sessions, p_routes) AS new (s, r) WHERE s IS NOT NULL AND r IS NOT NULL
    ON CONFLICT DO NOTHING;

    UPDATE abide.lane AS l
    SET head = (SELECT w.place FROM abide.work AS w
                WHERE w.session = l.session AND w.route = l.route AND w.place IS NOT NULL ORDER BY w.place LIMIT 1),
        holder = CASE WHEN s.locked_until > p_now THEN s.owner END,
        held_until = CASE WHEN s.locked_until > p_now THEN s.locked_until END
    FROM abide.session AS s WHERE s.name = ANY (p_sessions) AND l.session = ANY (ARRAY[s.name]);
END $$;
