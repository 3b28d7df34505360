-- The same for a lease on work, whose attempts count a lease as soon as it counts.
CREATE FUNCTION abide.begin_work(p_work bigint, p_nonce bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE abide.work AS w SET attempts = w.attempts + (NOT w.lease_counts)::integer, lease_counts = true
    WHERE w.no = p_work AND w.lease = p_nonce AND w.leased_until > abide.now();
    RETURN FOUND;
END $$;
