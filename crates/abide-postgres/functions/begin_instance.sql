-- The code of a suspect is about to run: from now on its lease counts as an attempt. False if the lease is lost.
CREATE FUNCTION abide.begin_instance(p_mailbox bigint, p_nonce bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    -- As in abide.lease_instances: it says something about a lease only.
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE abide.mailbox AS b SET lease_counts = true
    WHERE b.no = p_mailbox AND b.lease = p_nonce AND b.leased_until > abide.now();
    RETURN FOUND;
END $$;
