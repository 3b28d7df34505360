-- The route of each of these activities.
CREATE FUNCTION abide.routes_of_work(p_work abide.new_work[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_work abide.new_work;
    v_before abide.new_work;
    v_route bigint;
    v_routes bigint[] := '{}';
BEGIN
    FOREACH v_work IN ARRAY p_work LOOP
        -- Mostly they are all called alike.
        IF v_route IS NULL OR (v_work.name, v_work.tag) IS DISTINCT FROM (v_before.name, v_before.tag) THEN
            v_route := abide.work_route_of(v_work.name, v_work.tag);
        END IF;
        v_routes := v_routes || v_route;    v_before := v_work;
    END LOOP;
    RETURN v_routes;
END $$;
