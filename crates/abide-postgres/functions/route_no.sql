-- The number of a route, which is new or not; null if nobody knows what is to run.
CREATE FUNCTION abide.route_no(p_orchestration text, p_version text, p_pin text, p_refused text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_no bigint;
BEGIN
    IF p_orchestration IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT r.no INTO v_no FROM abide.route AS r
    WHERE r.key = hashtextextended(p_orchestration || E'\x02' || p_version || E'\x02' || p_pin || E'\x02' || p_refused, 0)
      AND r.orchestration = p_orchestration AND r.version = p_version AND r.pin = p_pin AND r.refused = p_refused
    ORDER BY r.key LIMIT 1;
    IF FOUND THEN
        RETURN v_no;
    END IF;
    RETURN abide.new_route(p_orchestration, p_version, p_pin, p_refused);
END $$;
