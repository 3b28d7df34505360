-- The same for the route of an activity. Its lock comes after those of work rows and before those of sessions.
CREATE FUNCTION abide.new_work_route(p_activity text, p_tag text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_no bigint;
BEGIN
    PERFORM pg_advisory_xact_lock('abide.work_route'::regclass::oid::bigint);
    SELECT r.no INTO v_no FROM abide.work_route AS r
    WHERE r.key = hashtextextended(p_activity || E'\x02' || p_tag, 0) AND r.activity = p_activity AND r.tag = p_tag
    ORDER BY r.key LIMIT 1;
    IF NOT FOUND THEN
        IF current_setting('synchronous_commit') = 'off' THEN
            PERFORM set_config('synchronous_commit', 'on', true);
        END IF;
        INSERT INTO abide.work_route (no, activity, tag)
        VALUES (coalesce((SELECT r.no FROM abide.work_route AS r ORDER BY r.no DESC LIMIT 1), 0) + 1, p_activity, p_tag)
        RETURNING no INTO v_no;
    END IF;
    RETURN v_no;
END $$;
