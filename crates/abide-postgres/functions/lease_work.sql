-- Leases up to p_limit activities, lowest number first; a nonce for each comes from the caller. p_routes, p_known, p_marks,
-- p_suspects and unjudged are those of abide.lease_instances. With p_session_owner, work of sessions is taken too, if the session is free or the caller's; taking it claims the session. If nothing
-- is leased, due_at says when to look again; a time that has come means that another held what there is.
-- Those that p_near made, if that is given, come first: abide.near_work. What is left comes in order, but for what is young: abide.taken_up_to.
-- p_except is what the same call has leased before: one that looks twice gets nothing twice, however short its leases are.
CREATE FUNCTION abide.lease_work(
    p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_routes bigint[], p_known bigint, p_marks bigint, p_suspects integer,
    p_session_owner text, p_session_ms bigint, p_except bigint[], p_near bigint, p_leaves_above bigint,
    OUT now bigint, OUT leases abide.work_lease[], OUT unjudged abide.work_route[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_plain record;    v_free record;    v_owned record;    -- the routes that are ready: without a session, in free ones, in the caller's
    v_has_lanes boolean;      -- mostly there are none, and then no session is looked for or locked
    v_held text[] := '{}';    -- sessions that the caller may take from, locked
    v_session_routes bigint[] := '{}';
    v_near bigint[] := '{}';
    v_left integer;
    v_to bigint := abide.taken_up_to(p_leaves_above, 0);
    v_found bigint[];
    v_claimed text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    now := abide.now();
    PERFORM abide.work_come_due(now);
    v_has_lanes := (SELECT true FROM abide.lane AS l ORDER BY l.session, l.route LIMIT 1);
    IF v_has_lanes THEN
        PERFORM abide.sessions_come_due(now);
    END IF;
    v_plain := abide.ready_work_routes('plain', NULL, p_routes, p_known, p_marks, p_suspects);
    v_free := v_plain;    v_free.routes := '{}';    v_owned := v_free;
    IF v_has_lanes AND p_session_owner IS NOT NULL AND NOT v_plain.is_unjudged THEN
        v_free := abide.ready_work_routes('free', NULL, p_routes, p_known, p_marks, p_suspects);
        v_owned := abide.ready_work_routes('held', p_session_owner, p_routes, p_known, p_marks, p_suspects);
        v_session_routes := v_free.routes || v_owned.routes;
    END IF;
    IF v_plain.is_unjudged OR v_free.is_unjudged OR v_owned.is_unjudged THEN
        unjudged := ARRAY(SELECT r FROM abide.work_route AS r WHERE r.no > p_known ORDER BY r.no);
        RETURN;
    END IF;

    -- Sessions that may be taken from are locked.
    IF cardinality(v_free.routes) > 0 THEN
        v_held := ARRAY(
            SELECT c.name FROM unnest(v_free.routes) AS wanted (route)
            CROSS JOIN LATERAL (
                SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session])
                WHERE l.route = wanted.route AND l.head IS NOT NULL AND l.holder IS NULL
                  AND (s.owner IS NULL OR s.owner = p_session_owner OR s.locked_until <= now)
                ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
            ) AS c);
    END IF;
    IF cardinality(v_owned.routes) > 0 THEN
        v_held := v_held || ARRAY(
            SELECT c.name FROM unnest(v_owned.routes) AS wanted (route)
            CROSS JOIN LATERAL (
                SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session])
                WHERE l.holder = p_session_owner AND l.route = wanted.route AND l.head IS NOT NULL AND s.owner = p_session_owner
                ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
            ) AS c);
    END IF;

    IF p_near IS NOT NULL THEN
        -- A suspect is passed by, unless they count like others.
        v_near := abide.near_work(
            p_near, CASE WHEN p_suspects IS NULL THEN v_plain.routes ELSE ARRAY(SELECT r FROM unnest(v_plain.routes) AS r WHERE r & 1 = 0) END,
            p_limit, p_except, v_held, v_session_routes);
    END IF;
    v_left := p_limit - cardinality(v_near);
    v_found := v_near;
    IF v_left > 0 THEN
        v_found := v_near || ARRAY(
            SELECT ranked.no
            FROM (
                SELECT c.no, c.is_suspect, row_number() OVER (PARTITION BY c.is_suspect ORDER BY c.no) AS nth
                FROM (
                    SELECT plain.no, wanted.route & 1 AS is_suspect
                    FROM unnest(v_plain.routes) AS wanted (route)
                    CROSS JOIN LATERAL (
                        SELECT w.no FROM abide.work AS w
                        WHERE w.route = wanted.route AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except || v_near)
                          AND w.place <= v_to
                        ORDER BY w.place LIMIT v_left FOR UPDATE SKIP LOCKED
                    ) AS plain
                    UNION ALL
                    SELECT bound.no, l.route & 1
                    FROM abide.lane AS l
                    CROSS JOIN LATERAL (
                        SELECT w.no FROM abide.work AS w
                        WHERE w.session = l.session AND w.route = l.route AND w.place IS NOT NULL AND w.no <> ALL (p_except)
                        ORDER BY w.place LIMIT v_left FOR UPDATE SKIP LOCKED
                    ) AS bound
                    WHERE cardinality(v_held) > 0 AND l.session = ANY (v_held) AND abide.takes_route(l.route, p_routes, p_known, p_marks, p_suspects)
                ) AS c
            ) AS ranked
            WHERE ranked.is_suspect = 0 OR p_suspects IS NULL OR ranked.nth <= p_suspects
            ORDER BY ranked.no LIMIT v_left);
    END IF;
    IF cardinality(v_found) = 0 THEN
        due_at := CASE WHEN abide.has_ready_work(v_plain.routes, v_free.routes, v_owned.routes, p_session_owner) THEN now
                       ELSE abide.next_work_due() END;
        RETURN;
    END IF;

    -- Read again: who waited for a session or a row above gives no shorter leases.
    now := abide.now();
    leases := abide.grant_work(v_found, p_nonces, abide.later(now, p_lease_ms), p_suspects IS NULL);
    IF v_has_lanes THEN
        SELECT array_agg(DISTINCT l.session) INTO v_claimed FROM unnest(leases) AS l WHERE l.session IS NOT NULL;
    END IF;
    IF v_claimed IS NOT NULL THEN
        UPDATE abide.session
        SET owner = p_session_owner, locked_until = abide.later(now, p_session_ms), last_active_at = now, claims = claims + 1
        WHERE name = ANY (v_claimed);
        PERFORM abide.settle_lanes(v_claimed, NULL, now);
    END IF;
END $$;
