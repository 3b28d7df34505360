-- The pins under which something is ready. It hops from pin to pin through the index, so that a million instances of a version
-- that nobody here can replay cost one look.
CREATE FUNCTION abide.ready_pins() RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE pin (pin) AS (
            (SELECT b.pin FROM abide.mailbox AS b WHERE b.ready IS NOT NULL ORDER BY b.pin LIMIT 1)
            UNION ALL
            SELECT (SELECT b.pin FROM abide.mailbox AS b WHERE b.ready IS NOT NULL AND b.pin > pin.pin
                    ORDER BY b.pin LIMIT 1)
            FROM pin WHERE pin.pin IS NOT NULL
        )
        SELECT coalesce(array_agg(pin.pin), '{}') FROM pin WHERE pin.pin IS NOT NULL);
END $$;
