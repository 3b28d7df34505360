-- Locks activities that are ready under these routes and were made by this node, and says which: up to p_limit of them, out of the first under
-- each route (128, and four for each that is wanted). That node has their instances in memory, so what they bring is taken in where it arises.
-- None of them has a number that is greater by 1,024 or more than that of the first of all that could be taken, work of these sessions too
-- (under p_session_routes): so nothing is passed by more often than that for being made elsewhere.
CREATE FUNCTION abide.near_work(
    p_node bigint, p_routes bigint[], p_limit integer, p_except bigint[], p_sessions text[], p_session_routes bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_route bigint;
    v_place bigint;    v_first bigint;
    v_near bigint[] := '{}';
BEGIN
    FOREACH v_route IN ARRAY p_routes LOOP
        SELECT w.place INTO v_place FROM abide.work AS w
        WHERE w.route = v_route AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except)
        ORDER BY w.place LIMIT 1;
        v_first := least(v_first, v_place);
    END LOOP;
    IF v_first IS NULL THEN
        RETURN '{}';
    END IF;
    IF cardinality(p_sessions) > 0 THEN
        v_first := least(v_first, (
            SELECT min(l.head) FROM abide.lane AS l
            WHERE l.session = ANY (p_sessions) AND l.route = ANY (p_session_routes)));
    END IF;
    -- The inner limit is how far it looks; the outer one lets it stop before: with some to spare, as others of this node may hold the first.
    FOREACH v_route IN ARRAY p_routes LOOP
        v_near := v_near || ARRAY(
            SELECT early.no
            FROM (SELECT w.no, w.maker FROM abide.work AS w
                  WHERE w.route = v_route AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except)
                  ORDER BY w.place LIMIT 128 + 4 * p_limit) AS early
            WHERE early.maker = p_node AND early.no < v_first + 1024 LIMIT p_limit + 16);
    END LOOP;
    RETURN ARRAY(
        SELECT w.no FROM abide.work AS w WHERE w.no = ANY (v_near) AND w.place IS NOT NULL
        ORDER BY w.no LIMIT p_limit FOR UPDATE SKIP LOCKED);
END $$;
