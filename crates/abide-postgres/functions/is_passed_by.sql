-- Whether an instance that an offer takes, or may take once its node knows the route, has been ready for longer than one that is ready
-- since p_ready.
CREATE FUNCTION abide.is_passed_by(p_ready bigint, p_offer abide.instance_offer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_route bigint := 0;
    v_ready bigint;
    v_hops integer := 0;
BEGIN
    LOOP
        SELECT b.route, b.ready INTO v_route, v_ready FROM abide.mailbox AS b WHERE b.ready IS NOT NULL AND b.route > v_route
        ORDER BY b.route, b.ready LIMIT 1;
        IF NOT FOUND THEN
            RETURN false;
        ELSIF v_ready < p_ready AND (v_route >= 1099511627776 OR (v_route & 274877906943) >> 1 > p_offer.known
                                     OR abide.takes_route(v_route, p_offer.routes, p_offer.known, p_offer.marks, p_offer.suspects)) THEN
            RETURN true;
        END IF;
        v_hops := v_hops + 1;
        IF v_hops > cardinality(p_offer.routes) + 8 AND p_offer.marks IS NULL THEN
            RETURN EXISTS (SELECT FROM abide.mailbox AS b WHERE b.route = ANY (p_offer.routes) AND b.ready < p_ready);
        END IF;
    END LOOP;
END $$;
