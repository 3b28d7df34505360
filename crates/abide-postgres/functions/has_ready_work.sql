-- Whether there is work that this caller may take. After a fetch that found none it means that another held it.
CREATE FUNCTION abide.has_ready_work(p_tags text[], p_session_owner text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM unnest(coalesce(p_tags, abide.ready_tags() || abide.held_tags(p_session_owner))) AS t
        WHERE EXISTS (SELECT FROM abide.work AS w WHERE w.tag = t AND w.place IS NOT NULL AND w.session IS NULL)
           OR (p_session_owner IS NOT NULL AND (
                  EXISTS (SELECT FROM abide.lane AS l WHERE l.tag = t AND l.head IS NOT NULL AND l.holder IS NULL)
                  OR EXISTS (SELECT FROM abide.lane AS l
                             WHERE l.holder = p_session_owner AND l.tag = t AND l.head IS NOT NULL))))
$$;
