-- The routes of a queue (abide.next_work_route) under which work is ready that a call takes, as abide.ready_routes finds those of instances.
CREATE FUNCTION abide.ready_work_routes(
    p_queue text, p_owner text, p_routes bigint[], p_known bigint, p_marks bigint, p_suspects integer,
    OUT routes bigint[], OUT is_unjudged boolean
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_route bigint := 0;
    v_hops integer := 0;
BEGIN
    routes := '{}';    is_unjudged := false;
    LOOP
        v_route := abide.next_work_route(p_queue, v_route, p_owner);
        EXIT WHEN v_route IS NULL;
        IF abide.takes_route(v_route, p_routes, p_known, p_marks, p_suspects) THEN
            routes := routes || v_route;
        ELSIF (v_route & 274877906943) >> 1 > p_known AND (v_route & p_marks) = 0 IS NOT TRUE THEN
            is_unjudged := true;
            RETURN;
        END IF;
        v_hops := v_hops + 1;
        IF v_hops > cardinality(p_routes) AND p_marks IS NULL THEN
            routes := routes || ARRAY(
                SELECT r + s FROM unnest(p_routes) AS r CROSS JOIN generate_series(0, least(coalesce(p_suspects, 1), 1)) AS s
                WHERE r + s > v_route);
            is_unjudged := abide.next_work_route(p_queue, p_known * 2 + 1, p_owner) < 274877906944
                OR abide.next_work_route(p_queue, 274877906944 + p_known * 2 + 1, p_owner) IS NOT NULL;
            RETURN;
        END IF;
    END LOOP;
END $$;
