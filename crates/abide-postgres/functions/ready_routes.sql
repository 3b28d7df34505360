-- The routes under which an instance is ready that a call takes. It hops from route to route through the index, so that a million instances
-- of a route that the call does not take cost one look; and it hops no more often than the call has routes: then it names those that are
-- left. is_unjudged: there is one that the node does not know. canceled: those under which a cancel waits, which the call
-- takes only if no node has the code; p_left are those of them for which one does. p_marks: abide.takes_route.
CREATE FUNCTION abide.ready_routes(
    p_routes bigint[], p_known bigint, p_marks bigint, p_suspects integer, p_left bigint[],
    OUT routes bigint[], OUT canceled bigint[], OUT is_unjudged boolean
) LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_route bigint := 0;
    v_hops integer := 0;
BEGIN
    routes := '{}';    canceled := '{}';    is_unjudged := false;
    LOOP
        SELECT b.route INTO v_route FROM abide.mailbox AS b WHERE b.ready IS NOT NULL AND b.route > v_route ORDER BY b.route LIMIT 1;
        EXIT WHEN NOT FOUND;
        IF abide.takes_route(v_route, p_routes, p_known, p_marks, p_suspects) THEN
            routes := routes || v_route;
        ELSIF (v_route & 274877906943) >> 1 > p_known AND (v_route & p_marks) = 0 IS NOT TRUE THEN
            is_unjudged := true;
            RETURN;
        ELSIF v_route >= 1099511627776 AND p_routes IS NOT NULL AND (v_route & ~1::bigint) <> ALL (p_left)
              AND ((v_route & 1) = 0 OR p_suspects IS DISTINCT FROM 0) THEN
            canceled := canceled || (v_route & ~1::bigint);
        END IF;
        v_hops := v_hops + 1;
        IF v_hops > cardinality(p_routes) AND p_marks IS NULL AND v_route < 1099511627776 THEN
            routes := routes || ARRAY(
                SELECT r + s FROM unnest(p_routes) AS r CROSS JOIN generate_series(0, least(coalesce(p_suspects, 1), 1)) AS s
                WHERE r + s > v_route AND r < 1099511627776);
            -- Behind all that are known there may be others, with each of the marks. Those with a cancel are few.
            is_unjudged := EXISTS (
                SELECT FROM unnest('{0, 274877906944, 549755813888, 824633720832}'::bigint[]) AS m (mark)
                WHERE (SELECT true FROM abide.mailbox AS b WHERE b.ready IS NOT NULL AND b.route > m.mark + p_known * 2 + 1
                         AND b.route < m.mark + 274877906944 ORDER BY b.route LIMIT 1));
            EXIT WHEN is_unjudged;
            v_route := 1099511627775;
        END IF;
    END LOOP;
END $$;
