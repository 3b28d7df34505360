-- Ends a lease by holding its activity: nobody leases it until the operator says so. Null if the lease is lost, else the instance.
CREATE FUNCTION abide.hold_work(p_work bigint, p_nonce bigint, p_detail text, p_build text, OUT instance text) LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_work abide.work;
BEGIN
    SELECT w.* INTO v_work FROM abide.work AS w WHERE w.no = p_work FOR UPDATE;
    v_now := abide.now();
    IF (v_work.lease = p_nonce AND v_work.leased_until > v_now) IS NOT TRUE THEN
        RETURN;
    END IF;
    UPDATE abide.work AS w
    SET lease = NULL, leased_until = NULL, due_at = 9223372036854775807, held_since = v_now, held_detail = p_detail, held_build = p_build
    WHERE w.no = p_work;
    SELECT coalesce((SELECT i.id FROM abide.instance AS i WHERE i.no = v_work.mailbox), '') INTO instance;
END $$;
