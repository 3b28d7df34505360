-- Leases up to p_limit activities, lowest number first; a nonce for each comes from the caller. p_tags null takes any tag. With
-- p_session_owner, work of sessions is taken too, if the session is free or the caller's; taking it claims the session. If nothing
-- is leased, due_at says when to look again; a time that has come means that another held what there is.
-- p_except is what the same call has leased before: one that looks twice gets nothing twice, however short its leases are.
CREATE FUNCTION abide.lease_work(
    p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_tags text[], p_session_owner text, p_session_ms bigint, p_except bigint[],
    OUT now bigint, OUT leases abide.work_lease[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_until bigint;
    v_tags text[];
    v_held text[] := '{}';    -- sessions that the caller may take from, locked
    v_found bigint[];
    v_claimed text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    now := abide.now();
    PERFORM abide.work_come_due(now);
    v_tags := coalesce(p_tags, abide.ready_tags());

    IF p_session_owner IS NOT NULL THEN
        v_held := ARRAY(
            SELECT c.name FROM (SELECT DISTINCT unnest(v_tags) AS tag) AS wanted
            CROSS JOIN LATERAL (
                SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session])
                WHERE l.tag = wanted.tag AND l.head IS NOT NULL AND l.holder IS NULL
                  AND (s.owner IS NULL OR s.owner = p_session_owner OR s.locked_until <= now)
                ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
            ) AS c)
        || ARRAY(
            SELECT c.name FROM (SELECT DISTINCT unnest(coalesce(p_tags, abide.held_tags(p_session_owner))) AS tag) AS wanted
            CROSS JOIN LATERAL (
                SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session])
                WHERE l.holder = p_session_owner AND l.tag = wanted.tag AND l.head IS NOT NULL AND s.owner = p_session_owner
                ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
            ) AS c);
    END IF;

    SELECT array_agg(c.no ORDER BY c.no) INTO v_found FROM (
        SELECT plain.no
        FROM (SELECT DISTINCT unnest(v_tags) AS tag) AS wanted
        CROSS JOIN LATERAL (
            SELECT w.no FROM abide.work AS w
            WHERE w.tag = wanted.tag AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except)
            ORDER BY w.place LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS plain
        UNION ALL
        SELECT bound.no
        FROM abide.lane AS l
        CROSS JOIN LATERAL (
            SELECT w.no FROM abide.work AS w
            WHERE w.session = l.session AND w.tag = l.tag AND w.place IS NOT NULL AND w.no <> ALL (p_except)
            ORDER BY w.place LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS bound
        WHERE l.session = ANY (v_held) AND (p_tags IS NULL OR l.tag = ANY (p_tags))
        ORDER BY no LIMIT p_limit
    ) AS c;
    -- No more than 16 MB together, unless one alone has more: the rest stays ready.
    SELECT array_agg(c.no ORDER BY c.no) INTO v_found FROM (
        SELECT w.no, sum(octet_length(w.item)) OVER (ORDER BY w.no) - octet_length(w.item) AS before
        FROM abide.work AS w WHERE w.no = ANY (v_found)
    ) AS c WHERE c.before < 16777216;
    IF v_found IS NULL THEN
        due_at := CASE WHEN abide.has_ready_work(p_tags, p_session_owner) THEN now ELSE abide.next_work_due() END;
        RETURN;
    END IF;

    -- Read again: who waited for a session or a row above gives no shorter leases.
    now := abide.now();
    v_until := abide.later(now, p_lease_ms);
    WITH leased AS (
        UPDATE abide.work AS w
        SET lease = p_nonces[array_position(v_found, w.no)], leased_until = v_until, due_at = v_until, attempts = w.attempts + 1
        WHERE w.no = ANY (v_found)
        RETURNING w.no, w.mailbox, w.lease, w.attempts, w.execution, w.activity, w.session, w.item
    )
    SELECT array_agg(ROW (l.no, l.mailbox, l.lease, l.attempts, i.id, l.execution, l.activity, i.name,
                          CASE WHEN i.status <> '' THEN i.version ELSE '' END, l.item, l.session, s.claims + 1, s.owner,
                          s.locked_until, s.last_active_at)
                         ::abide.work_lease ORDER BY l.no),
           array_agg(DISTINCT l.session) FILTER (WHERE l.session IS NOT NULL)
    INTO leases, v_claimed
    FROM leased AS l
    LEFT JOIN abide.instance AS i ON i.no = ANY (ARRAY[l.mailbox])
    LEFT JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session]);

    IF v_claimed IS NOT NULL THEN
        UPDATE abide.session
        SET owner = p_session_owner, locked_until = abide.later(now, p_session_ms), last_active_at = now, claims = claims + 1
        WHERE name = ANY (v_claimed);
        PERFORM abide.settle_lanes(v_claimed, NULL, now);
    END IF;
END $$;
