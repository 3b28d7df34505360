-- The first route behind p_after under which work is ready: 'plain' is work without a session, 'free' that of sessions which nobody holds,
-- 'held' that of sessions of this owner. Null if there is none.
CREATE FUNCTION abide.next_work_route(p_queue text, p_after bigint, p_owner text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_queue = 'plain' THEN
        RETURN (SELECT w.route FROM abide.work AS w WHERE w.place IS NOT NULL AND w.session IS NULL AND w.route > p_after
                ORDER BY w.route LIMIT 1);
    ELSIF p_queue = 'free' THEN
        RETURN (SELECT l.route FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder IS NULL AND l.route > p_after
                ORDER BY l.route LIMIT 1);
    END IF;
    RETURN (SELECT l.route FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder = p_owner AND l.route > p_after
            ORDER BY l.route LIMIT 1);
END $$;
