-- Leases up to p_limit instances, the longest waiting first; a nonce for each comes from the caller. Only the caller can tell which routes it
-- takes: p_routes are those, of all up to p_known; null is all of them, and p_marks is that of abide.takes_route. p_suspects is how many suspects it
-- takes at most; null is any number. If one is ready that the caller does not know, nothing is leased: it is told all that are new ("unjudged"), and asks again. The
-- same if there is one with a cancel that it takes only if no node has the code ("canceled"): it finds out, and asks again with p_left as
-- those that it leaves to others.
--
-- If nothing is leased, due_at says when to look again; a time that has come means that another held what there is.
-- p_except is what the same call has leased before: one that looks twice gets nothing twice, however short its leases are.
CREATE FUNCTION abide.lease_instances(
    p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_routes bigint[], p_known bigint, p_marks bigint, p_suspects integer,
    p_left bigint[],    p_except bigint[],
    OUT now bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT unjudged abide.route[],
    OUT canceled bigint[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_ready record;
    v_taken bigint[];
BEGIN
    -- Losing a lease in a crash frees it, so nobody waits for the disk. It must be said here: a SET of the function would be undone
    -- before the commit.
    PERFORM set_config('synchronous_commit', 'off', true);
    now := abide.now();
    PERFORM abide.come_due(now);

    v_ready := abide.ready_routes(p_routes, p_known, p_marks, p_suspects, p_left);
    IF v_ready.is_unjudged THEN
        unjudged := ARRAY(SELECT r FROM abide.route AS r WHERE r.no > p_known ORDER BY r.no);
        RETURN;
    ELSIF cardinality(v_ready.canceled) > 0 THEN
        canceled := v_ready.canceled;
        RETURN;
    END IF;

    SELECT array_agg(c.no ORDER BY c.ready) INTO v_taken
    FROM (
        SELECT ranked.no, ranked.ready
        FROM (
            SELECT found.no, found.ready, wanted.route & 1 AS is_suspect,
                   row_number() OVER (PARTITION BY wanted.route & 1 ORDER BY found.ready) AS nth
            FROM unnest(v_ready.routes) AS wanted (route)
            CROSS JOIN LATERAL (
                SELECT b.no, b.ready FROM abide.mailbox AS b
                WHERE b.route = wanted.route AND b.ready IS NOT NULL AND b.no <> ALL (p_except)
                ORDER BY b.ready LIMIT p_limit FOR UPDATE SKIP LOCKED
            ) AS found
        ) AS ranked
        WHERE ranked.is_suspect = 0 OR p_suspects IS NULL OR ranked.nth <= p_suspects
        ORDER BY ranked.ready LIMIT p_limit
    ) AS c;
    IF v_taken IS NULL THEN
        due_at := CASE WHEN EXISTS (SELECT FROM abide.mailbox AS b WHERE b.route = ANY (v_ready.routes) AND b.ready IS NOT NULL) THEN now
                       ELSE (SELECT b.due_at FROM abide.mailbox AS b WHERE b.due_at IS NOT NULL ORDER BY b.due_at LIMIT 1) END;
        RETURN;
    END IF;

    -- Whoever had one of these before may have recorded a later time than the one read above: histories do not run backwards.
    now := abide.now();
    SELECT h.leases, h.messages INTO leases, messages
    FROM abide.hand_out(v_taken, p_nonces, abide.later(now, p_lease_ms), p_suspects IS NULL) AS h;
END $$;
