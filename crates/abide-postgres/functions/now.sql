-- The store's clock: milliseconds since the epoch, because that is what histories hold. Read when the decision is made: what is
-- judged by a time that was read before waiting for a lock is judged by an old time.
CREATE FUNCTION abide.now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;
