-- Until when a lease lasts at least that hands out so many bytes. The transaction commits when they are sent, and then the lease must have
-- some time left. Twice a second per MiB, the rate of transfer_time in abide-provider.
CREATE FUNCTION abide.lasting(p_bytes bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT abide.now() + p_bytes * 2000 / 1048576
$$;
