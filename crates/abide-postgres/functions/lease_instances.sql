-- Leases up to p_limit instances, the longest waiting first; a nonce for each comes from the caller. Only the caller can tell which
-- pins it can replay: p_pins are those it can, p_refused those it cannot, both null if it takes all. If there are others, they are
-- "unjudged", and nothing is leased: it judges them and asks again. Those without a pin can be had by everybody.
--
-- If nothing is leased, due_at says when to look again; a time that has come means that another held what there is.
-- p_except is what the same call has leased before: one that looks twice gets nothing twice, however short its leases are.
CREATE FUNCTION abide.lease_instances(
    p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_pins text[], p_refused text[], p_except bigint[],
    OUT now bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT unjudged text[],
    OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_pins text[];
    v_taken bigint[];
BEGIN
    -- Losing a lease in a crash frees it, so nobody waits for the disk. It must be said here: a SET of the function would be undone
    -- before the commit.
    PERFORM set_config('synchronous_commit', 'off', true);
    now := abide.now();
    PERFORM abide.come_due(now);

    v_pins := abide.ready_pins();
    IF p_pins IS NOT NULL THEN
        unjudged := ARRAY(SELECT p FROM unnest(v_pins) AS p WHERE p <> '' AND p <> ALL (p_pins) AND p <> ALL (p_refused));
        IF cardinality(unjudged) > 0 THEN
            RETURN;
        END IF;
        v_pins := ARRAY(SELECT p FROM unnest(v_pins) AS p WHERE p = '' OR p = ANY (p_pins));
    END IF;

    SELECT array_agg(c.no ORDER BY c.ready) INTO v_taken
    FROM (
        SELECT found.no, found.ready
        FROM unnest(v_pins) AS wanted (pin)
        CROSS JOIN LATERAL (
            SELECT b.no, b.ready FROM abide.mailbox AS b
            WHERE b.pin = wanted.pin AND b.ready IS NOT NULL AND b.no <> ALL (p_except)
            ORDER BY b.ready LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS found
        ORDER BY found.ready LIMIT p_limit
    ) AS c;
    IF v_taken IS NULL THEN
        due_at := CASE WHEN cardinality(v_pins) > 0 THEN now
                       ELSE (SELECT b.due_at FROM abide.mailbox AS b WHERE b.due_at IS NOT NULL ORDER BY b.due_at LIMIT 1) END;
        RETURN;
    END IF;

    -- Whoever had one of these before may have recorded a later time than the one read above: histories do not run backwards.
    now := abide.now();
    SELECT h.leases, h.messages INTO leases, messages
    FROM abide.hand_out(v_taken, p_nonces, abide.later(now, p_lease_ms)) AS h;
END $$;
