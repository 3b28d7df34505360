-- The tags under which work waits in sessions of this owner.
CREATE FUNCTION abide.held_tags(p_owner text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE held (tag) AS (
            (SELECT l.tag FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder = p_owner ORDER BY l.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT l.tag FROM abide.lane AS l
                    WHERE l.head IS NOT NULL AND l.holder = p_owner AND l.tag > held.tag ORDER BY l.tag LIMIT 1)
            FROM held WHERE held.tag IS NOT NULL
        )
        SELECT coalesce(array_agg(tag), '{}') FROM held WHERE tag IS NOT NULL);
END $$;
