-- Brings the readiness of these mailboxes, which the caller has locked, up to date. One that is leased is left alone. Those that somebody
-- waits for, by p_offer, are leased to him at once, in the order of the queue: a nonce for each that is wanted. Nothing is handed over past
-- an instance that has waited for longer: whoever looks takes them in their order. wakes says whether one can be leased still, due_at when
-- that may change.
CREATE FUNCTION abide.settle(
    p_mailboxes bigint[], p_offer abide.instance_offer, p_now bigint,
    OUT wakes boolean, OUT due_at bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    -- Those that are ready or change, the first in the queue first, and what each offers.
    v_found bigint[];    v_readies bigint[];    v_dues bigint[];
    v_wanted bigint[];   -- those that he would take, in the same order
    v_first bigint;
    v_handed record;
BEGIN
    SELECT array_agg(f.no), array_agg(f.ready), array_agg(f.due_at), bool_or(f.ready IS NOT NULL), min(f.due_at),
           array_agg(f.no) FILTER (WHERE f.is_wanted), min(f.ready) FILTER (WHERE f.is_wanted)
    INTO v_found, v_readies, v_dues, wakes, due_at, v_wanted, v_first
    FROM (
        SELECT b.no, s.ready, s.due_at,
               s.ready IS NOT NULL AND (p_offer.pins IS NULL OR b.pin = '' OR b.pin = ANY (p_offer.pins)) AS is_wanted
        FROM abide.mailbox AS b CROSS JOIN LATERAL abide.standing(b.no, b.execution > 0) AS s
        WHERE b.no = ANY (p_mailboxes) AND b.lease IS NULL
          AND (s.ready IS NOT NULL OR s.due_at IS NOT NULL OR b.ready IS NOT NULL OR b.due_at IS NOT NULL)
        ORDER BY s.ready
    ) AS f;
    wakes := coalesce(wakes, false);
    IF v_found IS NULL THEN
        RETURN;
    END IF;
    IF v_wanted IS NOT NULL AND cardinality(p_offer.nonces) > 0 AND NOT abide.is_passed_by(v_first, p_offer.pins) THEN
        v_handed := abide.hand_out(v_wanted[:cardinality(p_offer.nonces)], p_offer.nonces, abide.later(p_now, p_offer.lease_ms));
        leases := v_handed.leases;    messages := v_handed.messages;
        IF cardinality(leases) = cardinality(v_found) THEN
            wakes := false;    due_at := NULL;
            RETURN;
        END IF;
        -- Those that are left.
        SELECT array_agg(f.no), array_agg(f.ready), array_agg(f.due_at), bool_or(f.ready IS NOT NULL), min(f.due_at)
        INTO v_found, v_readies, v_dues, wakes, due_at
        FROM unnest(v_found, v_readies, v_dues) AS f (no, ready, due_at)
        WHERE f.no <> ALL (v_wanted[:cardinality(leases)]);
    END IF;
    UPDATE abide.mailbox AS b SET ready = f.ready, due_at = f.due_at
    FROM unnest(v_found, v_readies, v_dues) AS f (no, ready, due_at)
    WHERE b.no = ANY (ARRAY[f.no]) AND (b.ready, b.due_at) IS DISTINCT FROM (f.ready, f.due_at);
END $$;
