-- The tags under which work is ready that has no session, or whose session is free; for a worker that takes any.
CREATE FUNCTION abide.ready_tags() RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE plain (tag) AS (
            (SELECT w.tag FROM abide.work AS w WHERE w.place IS NOT NULL AND w.session IS NULL ORDER BY w.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT w.tag FROM abide.work AS w
                    WHERE w.place IS NOT NULL AND w.session IS NULL AND w.tag > plain.tag ORDER BY w.tag LIMIT 1)
            FROM plain WHERE plain.tag IS NOT NULL
        ), free (tag) AS (
            (SELECT l.tag FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder IS NULL ORDER BY l.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT l.tag FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder IS NULL AND l.tag > free.tag
                    ORDER BY l.tag LIMIT 1)
            FROM free WHERE free.tag IS NOT NULL
        )
        SELECT coalesce(array_agg(tag), '{}') FROM (SELECT tag FROM plain UNION SELECT tag FROM free) AS t
        WHERE tag IS NOT NULL);
END $$;
