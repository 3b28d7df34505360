-- Leases up to p_limit activities, lowest number first; a nonce for each comes from the caller. p_tags null takes any tag. With
-- p_session_owner, work of sessions is taken too, if the session is free or the caller's; taking it claims the session. If nothing
-- is leased, due_at says when to look again; a time that has come means that another held what there is.
-- Those that p_near made, if that is given, come first: abide.near_work. What is left comes in order, but for what is young: abide.taken_up_to.
-- p_except is what the same call has leased before: one that looks twice gets nothing twice, however short its leases are.
CREATE FUNCTION abide.lease_work(
    p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_tags text[], p_session_owner text, p_session_ms bigint, p_except bigint[],
    p_near bigint, p_leaves_above bigint,
    OUT now bigint, OUT leases abide.work_lease[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_tags text[];
    v_has_lanes boolean;      -- mostly there are none, and then no session is looked for or locked
    v_held text[] := '{}';    -- sessions that the caller may take from, locked
    v_near bigint[] := '{}';
    v_left integer;
    v_to bigint := abide.taken_up_to(p_leaves_above, 0);
    v_found bigint[];
    v_claimed text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    now := abide.now();
    PERFORM abide.work_come_due(now);
    v_has_lanes := (SELECT true FROM abide.lane AS l ORDER BY l.session, l.tag LIMIT 1);
    IF v_has_lanes THEN
        PERFORM abide.sessions_come_due(now);
    END IF;
    v_tags := coalesce(p_tags, abide.ready_tags());

    -- Sessions that may be taken from are locked.
    IF v_has_lanes THEN
        IF p_session_owner IS NOT NULL AND EXISTS (
            SELECT FROM unnest(v_tags) AS t
            WHERE (SELECT true FROM abide.lane AS l WHERE l.tag = t AND l.head IS NOT NULL AND l.holder IS NULL ORDER BY l.head LIMIT 1)) THEN
            v_held := ARRAY(
                SELECT c.name FROM (SELECT DISTINCT unnest(v_tags) AS tag) AS wanted
                CROSS JOIN LATERAL (
                    SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session])
                    WHERE l.tag = wanted.tag AND l.head IS NOT NULL AND l.holder IS NULL
                      AND (s.owner IS NULL OR s.owner = p_session_owner OR s.locked_until <= now)
                    ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
                ) AS c);
        END IF;
        IF (SELECT true FROM abide.lane AS l WHERE l.holder = p_session_owner AND l.head IS NOT NULL ORDER BY l.tag, l.head LIMIT 1) THEN
            v_held := v_held || ARRAY(
                SELECT c.name FROM (SELECT DISTINCT unnest(coalesce(p_tags, abide.held_tags(p_session_owner))) AS tag) AS wanted
                CROSS JOIN LATERAL (
                    SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session])
                    WHERE l.holder = p_session_owner AND l.tag = wanted.tag AND l.head IS NOT NULL AND s.owner = p_session_owner
                    ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
                ) AS c);
        END IF;
    END IF;

    IF p_near IS NOT NULL THEN
        v_near := abide.near_work(p_near, v_tags, p_limit, p_except, v_held, p_tags);
    END IF;
    v_left := p_limit - cardinality(v_near);
    v_found := v_near;
    IF v_left > 0 THEN
        v_found := v_near || ARRAY(
            SELECT plain.no
            FROM unnest(v_tags) AS wanted (tag)
            CROSS JOIN LATERAL (
                SELECT w.no FROM abide.work AS w
                WHERE w.tag = wanted.tag AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except || v_near)
                  AND w.place <= v_to
                ORDER BY w.place LIMIT v_left FOR UPDATE SKIP LOCKED
            ) AS plain
            ORDER BY no LIMIT v_left);
    END IF;
    IF v_left > 0 AND cardinality(v_held) > 0 THEN
        v_found := v_near || ARRAY(
            SELECT bound.no
            FROM abide.lane AS l
            CROSS JOIN LATERAL (
                SELECT w.no FROM abide.work AS w
                WHERE w.session = l.session AND w.tag = l.tag AND w.place IS NOT NULL AND w.no <> ALL (p_except)
                ORDER BY w.place LIMIT v_left FOR UPDATE SKIP LOCKED
            ) AS bound
            WHERE l.session = ANY (v_held) AND (p_tags IS NULL OR l.tag = ANY (p_tags))
            UNION ALL
            SELECT plain.no FROM unnest(v_found) AS plain (no) WHERE plain.no <> ALL (v_near)
            ORDER BY no LIMIT v_left);
    END IF;
    IF cardinality(v_found) = 0 THEN
        due_at := CASE WHEN abide.has_ready_work(p_tags, p_session_owner) THEN now ELSE abide.next_work_due() END;
        RETURN;
    END IF;

    -- Read again: who waited for a session or a row above gives no shorter leases.
    now := abide.now();
    leases := abide.grant_work(v_found, p_nonces, abide.later(now, p_lease_ms));
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
