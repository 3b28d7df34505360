-- Brings the readiness of these mailboxes, which the caller has locked, up to date. One that is leased is left alone. Those that somebody
-- waits for, by p_offer, are leased to him at once, in the order of the queue: a nonce for each that is wanted. Nothing is handed over past
-- an instance that has waited for longer: whoever looks takes them in their order. wakes are the routes under which one can be leased still,
-- due_at is when that may change.
CREATE FUNCTION abide.settle(
    p_mailboxes bigint[], p_offer abide.instance_offer, p_now bigint,
    OUT wakes bigint[], OUT due_at bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    -- Those that are ready or change, the first in the queue first, and what each offers.
    v_found bigint[];    v_readies bigint[];    v_dues bigint[];    v_routes bigint[];    v_flags smallint[];
    v_wanted bigint[];   -- those that he would take, in the same order
    v_first bigint;
    v_handed record;
BEGIN
    SELECT array_agg(f.no), array_agg(f.ready), array_agg(f.due_at), array_agg(f.route), array_agg(f.flags),
           array_agg(DISTINCT f.route) FILTER (WHERE f.ready IS NOT NULL), min(f.due_at)
    INTO v_found, v_readies, v_dues, v_routes, v_flags, wakes, due_at
    FROM (
        SELECT f.no, f.ready, least(f.due_at, (f.routed).retry_at) AS due_at,
               coalesce((f.routed).route, f.route) AS route, coalesce((f.routed).flags, f.flags) AS flags
        FROM (
            SELECT b.no, s.ready, s.due_at, b.flags,
                   -- That of an instance is what it was, and that of one which never ran is what its start says; all else is rare.
                   CASE WHEN s.ready IS NULL THEN b.route WHEN b.execution = 0 THEN s.code * 2 ELSE b.route & ~1::bigint END AS route,
                   CASE WHEN b.flags > 0
                             OR s.ready IS NOT NULL AND (s.attempts >= 3 OR CASE WHEN b.execution = 0 THEN s.code IS NULL
                                                                                 ELSE b.route = 0 OR b.status <> 'Running' END)
                        THEN abide.routed(b, s.attempts, p_now) END AS routed
            FROM abide.mailbox AS b CROSS JOIN LATERAL abide.standing(b.no, b.execution, b.status) AS s
            WHERE b.no = ANY (p_mailboxes) AND b.lease IS NULL
              AND (s.ready IS NOT NULL OR s.due_at IS NOT NULL OR b.ready IS NOT NULL OR b.due_at IS NOT NULL OR b.flags > 0)
            ORDER BY s.ready OFFSET 0
        ) AS f
    ) AS f;
    wakes := coalesce(wakes, '{}');
    IF v_found IS NULL THEN
        RETURN;
    END IF;
    IF cardinality(p_offer.nonces) > 0 AND cardinality(wakes) > 0 THEN
        -- A suspect runs alone: whoever looks takes it.
        SELECT array_agg(f.no ORDER BY f.ready), min(f.ready) INTO v_wanted, v_first
        FROM unnest(v_found, v_readies, v_routes) AS f (no, ready, route)
        WHERE f.ready IS NOT NULL
          AND abide.takes_route(f.route, p_offer.routes, p_offer.known, p_offer.marks,
                                CASE WHEN p_offer.suspects IS NOT NULL THEN 0 END);
    END IF;
    IF v_wanted IS NOT NULL AND NOT abide.is_passed_by(v_first, p_offer) THEN
        v_handed := abide.hand_out(v_wanted[:cardinality(p_offer.nonces)], p_offer.nonces, abide.later(p_now, p_offer.lease_ms), true);
        leases := v_handed.leases;    messages := v_handed.messages;
        IF cardinality(leases) = cardinality(v_found) THEN
            wakes := '{}';    due_at := NULL;
            RETURN;
        END IF;
        -- Those that are left.
        SELECT array_agg(f.no), array_agg(f.ready), array_agg(f.due_at), array_agg(f.route), array_agg(f.flags),
               array_agg(DISTINCT f.route) FILTER (WHERE f.ready IS NOT NULL), min(f.due_at)
        INTO v_found, v_readies, v_dues, v_routes, v_flags, wakes, due_at
        FROM unnest(v_found, v_readies, v_dues, v_routes, v_flags) AS f (no, ready, due_at, route, flags)
        WHERE f.no <> ALL (v_wanted[:cardinality(leases)]);
        wakes := coalesce(wakes, '{}');
    END IF;
    UPDATE abide.mailbox AS b SET ready = f.ready, due_at = f.due_at, route = f.route, flags = f.flags
    FROM unnest(v_found, v_readies, v_dues, v_routes, v_flags) AS f (no, ready, due_at, route, flags)
    WHERE b.no = ANY (ARRAY[f.no]) AND (b.ready, b.due_at, b.route, b.flags) IS DISTINCT FROM (f.ready, f.due_at, f.route, f.flags);
END $$;
