-- Whether there is work that a caller may take, under these routes of each queue. After a fetch that found none it means that another held it.
CREATE FUNCTION abide.has_ready_work(p_plain bigint[], p_free bigint[], p_held bigint[], p_session_owner text) RETURNS boolean
LANGUAGE sql STABLE AS $$
    -- No EXISTS, which the server might answer by going through all of them first; and each in the order of its index, or any other index
    -- may seem as good to find the first one.
    SELECT EXISTS (
        SELECT FROM unnest(p_plain) AS r
        WHERE (SELECT true FROM abide.work AS w WHERE w.route = r AND w.place IS NOT NULL AND w.session IS NULL ORDER BY w.place LIMIT 1))
    OR EXISTS (
        SELECT FROM unnest(p_free) AS r
        WHERE (SELECT true FROM abide.lane AS l WHERE l.route = r AND l.head IS NOT NULL AND l.holder IS NULL ORDER BY l.head LIMIT 1))
    OR EXISTS (
        SELECT FROM unnest(p_held) AS r
        WHERE (SELECT true FROM abide.lane AS l WHERE l.holder = p_session_owner AND l.route = r AND l.head IS NOT NULL
               ORDER BY l.head LIMIT 1))
$$;
