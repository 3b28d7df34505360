-- Leases up to p_limit instances, the longest waiting first; a nonce for each comes from the caller. Only the caller can tell which
-- pins it can replay: p_pins are those it can, p_refused those it cannot, both null if it takes all. If there are others, they are
-- "unjudged", and nothing is leased: it judges them and asks again. Those without a pin can be had by everybody.
--
-- A message is neither written nor locked: the batch is "what is visible up to here" (abide.batch). If nothing is leased, due_at
-- says when to look again; a time that has come means that another held what there is.
CREATE FUNCTION abide.lease_instances(
    p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_pins text[], p_refused text[],
    OUT now bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT unjudged text[],
    OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_pins text[];
    v_taken bigint[];
    v_until bigint;
BEGIN
    -- Losing a lease in a crash frees it, so nobody waits for the disk. It must be said here: a SET of the function would be undone
    -- before the commit.
    PERFORM set_config('synchronous_commit', 'off', true);
    now := abide.now();
    v_until := abide.later(now, p_lease_ms);
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
            WHERE b.pin = wanted.pin AND b.ready IS NOT NULL
            ORDER BY b.ready LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS found
        ORDER BY found.ready LIMIT p_limit
    ) AS c;
    IF v_taken IS NULL THEN
        due_at := CASE WHEN cardinality(v_pins) > 0 THEN now
                       ELSE (SELECT b.due_at FROM abide.mailbox AS b WHERE b.due_at IS NOT NULL ORDER BY b.due_at LIMIT 1) END;
        RETURN;
    END IF;

    WITH batch AS MATERIALIZED (
        SELECT b.no AS mailbox, first.no AS first, mail.last, mail.handed_out
        FROM abide.mailbox AS b
        CROSS JOIN LATERAL (
            SELECT min(m.place) AS no FROM abide.message AS m
            WHERE m.mailbox = b.no AND m.class IN (1, 2)
              AND (b.execution = 0 OR (b.status = 'ContinuedAsNew' AND m.class = 2))
        ) AS first
        CROSS JOIN LATERAL (
            SELECT array_agg(ROW (b.no, x.no, x.attempts + 1, x.item)::abide.leased_message ORDER BY x.place) AS handed_out,
                   max(x.no) FILTER (WHERE x.no IS DISTINCT FROM first.no) AS last
            FROM (
                SELECT m.no, m.attempts, m.item, row_number() OVER in_order AS place,
                       sum(octet_length(m.item)) OVER (in_order ROWS UNBOUNDED PRECEDING) - octet_length(m.item) AS before
                FROM (
                    (SELECT m.no, m.attempts, m.item FROM abide.message AS m WHERE m.no = first.no)
                    UNION ALL
                    (SELECT m.no, m.attempts, m.item FROM abide.message AS m
                     WHERE m.mailbox = b.no AND m.place IS NOT NULL AND m.place IS DISTINCT FROM first.no
                     ORDER BY m.place LIMIT 1000)
                ) AS m
                WINDOW in_order AS (ORDER BY m.no IS DISTINCT FROM first.no, m.no)
            ) AS x
            WHERE x.place <= 1000 AND x.before < 4194304
        ) AS mail
        WHERE b.no = ANY (v_taken)
    ), leased AS (
        UPDATE abide.mailbox AS b
        SET lease = p_nonces[array_position(v_taken, b.no)], leased_until = v_until, ready = NULL, due_at = v_until,
            batch_to = coalesce(batch.last, 0), batch_first = batch.first
        FROM batch WHERE b.no = batch.mailbox
        RETURNING b.no, b.id, b.execution, b.last_event, b.status, b.lease, batch.handed_out
    )
    SELECT array_agg(ROW (l.no, l.lease, l.id, l.execution, l.last_event, l.status, i.name, i.version, i.parent,
                          i.parent_execution, i.parent_event)::abide.instance_lease ORDER BY array_position(v_taken, l.no)),
           (SELECT array_agg(m) FROM leased AS l CROSS JOIN LATERAL unnest(l.handed_out) AS m)
    INTO leases, messages
    FROM leased AS l JOIN abide.instance AS i ON i.no = l.no;
END $$;
