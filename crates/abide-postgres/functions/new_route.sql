-- Adds a route, unless another call has added it meanwhile. Numbers are given out under a lock that is held until the commit:
-- whoever sees one sees all before it. The lock comes last of all locks. A number that was seen must not be given out again, so the
-- commit waits for the disk also where leases do not.
CREATE FUNCTION abide.new_route(p_orchestration text, p_version text, p_pin text, p_refused text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_no bigint;
BEGIN
    PERFORM pg_advisory_xact_lock('abide.route'::regclass::oid::bigint);
    SELECT r.no INTO v_no FROM abide.route AS r
    WHERE r.key = hashtextextended(p_orchestration || E'\x02' || p_version || E'\x02' || p_pin || E'\x02' || p_refused, 0)
      AND r.orchestration = p_orchestration AND r.version = p_version AND r.pin = p_pin AND r.refused = p_refused
    ORDER BY r.key LIMIT 1;
    IF NOT FOUND THEN
        IF current_setting('synchronous_commit') = 'off' THEN
            PERFORM set_config('synchronous_commit', 'on', true);
        END IF;
        INSERT INTO abide.route (no, orchestration, version, pin, refused)
        VALUES (coalesce((SELECT r.no FROM abide.route AS r ORDER BY r.no DESC LIMIT 1), 0) + 1, p_orchestration, p_version, p_pin, p_refused)
        RETURNING no INTO v_no;
    END IF;
    RETURN v_no;
END $$;
