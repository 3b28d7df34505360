-- Whether there is work that this caller may take. After a fetch that found none it means that another held it.
CREATE FUNCTION abide.has_ready_work(p_tags text[], p_session_owner text) RETURNS boolean LANGUAGE sql STABLE AS $$
    -- No EXISTS: the server might answer it by going through all of them first.
    SELECT EXISTS (
        SELECT FROM unnest(coalesce(p_tags, abide.ready_tags() || abide.held_tags(p_session_owner))) AS t
        WHERE (SELECT true FROM abide.work AS w WHERE w.tag = t AND w.place IS NOT NULL AND w.session IS NULL LIMIT 1)
           OR (p_session_owner IS NOT NULL AND (
                  (SELECT true FROM abide.lane AS l WHERE l.tag = t AND l.head IS NOT NULL AND l.holder IS NULL LIMIT 1)
                  OR (SELECT true FROM abide.lane AS l
                      WHERE l.holder = p_session_owner AND l.tag = t AND l.head IS NOT NULL LIMIT 1))))
$$;
