-- The route of an activity, as its column holds it; it is new or not. It has no name if it cannot be read.
CREATE FUNCTION abide.work_route_of(p_name text, p_tag text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_activity text := coalesce('=' || p_name, '');
    v_no bigint;
BEGIN
    SELECT r.no INTO v_no FROM abide.work_route AS r
    WHERE r.key = hashtextextended(v_activity || E'\x02' || p_tag, 0) AND r.activity = v_activity AND r.tag = p_tag
    ORDER BY r.key LIMIT 1;
    IF NOT FOUND THEN
        v_no := abide.new_work_route(v_activity, p_tag);
    END IF;
    RETURN v_no * 2 + CASE WHEN p_tag <> '' THEN 274877906944 ELSE 0 END;
END $$;
