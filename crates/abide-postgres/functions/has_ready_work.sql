-- Whether there is work that this caller may take. After a fetch that found none it means that another held it.
CREATE FUNCTION abide.has_ready_work(p_tags text[], p_session_owner text) RETURNS boolean LANGUAGE sql STABLE AS $$
    -- No EXISTS, which the server might answer by going through all of them first; and each in the order of its index, or any other index
    -- may seem as good to find the first one.
    SELECT EXISTS (
        SELECT FROM unnest(coalesce(p_tags, abide.ready_tags() || abide.held_tags(p_session_owner))) AS t
        WHERE (SELECT true FROM abide.work AS w WHERE w.tag = t AND w.place IS NOT NULL AND w.session IS NULL
               ORDER BY w.place LIMIT 1)
           OR (p_session_owner IS NOT NULL AND (
                  (SELECT true FROM abide.lane AS l WHERE l.tag = t AND l.head IS NOT NULL AND l.holder IS NULL
                   ORDER BY l.head LIMIT 1)
                  OR (SELECT true FROM abide.lane AS l
                      WHERE l.holder = p_session_owner AND l.tag = t AND l.head IS NOT NULL
                      ORDER BY l.head LIMIT 1))))
$$;
