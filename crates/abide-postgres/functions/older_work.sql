-- Locks activities that are ready under these routes, as many as an offer wants, and says which: those that are near, then others in order,
-- but for young ones (abide.taken_up_to). p_made is how many are about to be made, which go before those.
CREATE FUNCTION abide.older_work(p_offer abide.work_offer, p_routes bigint[], p_made integer) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_wanted integer := cardinality(p_offer.nonces);
    v_to bigint := abide.taken_up_to(p_offer.leaves_above, p_made);
    v_found bigint[] := '{}';
BEGIN
    IF p_offer.near IS NOT NULL THEN
        v_found := abide.near_work(p_offer.near, p_routes, v_wanted, '{}', '{}', '{}');
    END IF;
    IF cardinality(v_found) < v_wanted THEN
        v_found := v_found || ARRAY(
            SELECT c.no FROM unnest(p_routes) AS wanted (route)
            CROSS JOIN LATERAL (
                SELECT w.no FROM abide.work AS w
                WHERE w.route = wanted.route AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (v_found) AND w.place <= v_to
                ORDER BY w.place LIMIT v_wanted - cardinality(v_found) FOR UPDATE SKIP LOCKED
            ) AS c ORDER BY c.no LIMIT v_wanted - cardinality(v_found));
    END IF;
    RETURN v_found;
END $$;
