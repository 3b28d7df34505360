-- Whether an instance with one of these pins (null is any), or with none, has been ready for longer than one that is ready since p_ready.
CREATE FUNCTION abide.is_passed_by(p_ready bigint, p_pins text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_pins text[] := CASE WHEN p_pins IS NULL THEN abide.ready_pins() ELSE ARRAY[''] || p_pins END;
BEGIN
    RETURN EXISTS (SELECT FROM abide.mailbox AS b WHERE b.pin = ANY (v_pins) AND b.ready < p_ready);
END $$;
