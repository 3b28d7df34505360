-- Whether an instance with one of these pins (null is any), or with none, has been ready for longer than one that is ready since p_ready.
CREATE FUNCTION abide.is_passed_by(p_ready bigint, p_pins text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_pin text;
    v_first bigint;
BEGIN
    FOREACH v_pin IN ARRAY CASE WHEN p_pins IS NULL THEN abide.ready_pins() ELSE ARRAY[''] || p_pins END LOOP
        SELECT b.ready INTO v_first FROM abide.mailbox AS b WHERE b.pin = v_pin AND b.ready IS NOT NULL ORDER BY b.ready LIMIT 1;
        IF v_first < p_ready THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;
