-- Returns until when a lease lasts at least that hands out so many bytes. The transaction commits before the bytes are
-- sent, and the lease must not expire while they arrive: two seconds per MiB, twice transfer_time in abide-provider.
CREATE FUNCTION abide.lasting(p_bytes bigint) RETURNS bigint LANGUAGE sql AS $$
    SELECT abide.now() + p_bytes * 2000 / 1048576
$$;
