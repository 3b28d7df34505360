-- Leases mailboxes, which are locked and ready, with the messages that each hands out: what starts an execution first, then in order. A
-- message is neither written nor locked: the batch is "what is visible up to here" (abide.batch). All of them together hand out no more
-- than 16 MB, and what one instance hands out beyond: the rest stays ready.
CREATE FUNCTION abide.hand_out(
    p_taken bigint[], p_nonces bigint[], p_until bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH batch AS MATERIALIZED (
        SELECT b.no AS mailbox, first.no AS first, mail.last, mail.bytes
        FROM abide.mailbox AS b
        CROSS JOIN LATERAL (
            SELECT min(m.place) AS no FROM abide.message AS m
            WHERE m.mailbox = b.no AND m.class IN (1, 2)
              AND (b.execution = 0 OR (b.status = 'ContinuedAsNew' AND m.class = 2))
        ) AS first
        CROSS JOIN LATERAL (
            SELECT max(x.no) FILTER (WHERE x.no IS DISTINCT FROM first.no) AS last, sum(x.bytes) AS bytes
            FROM (
                SELECT m.no, m.bytes, row_number() OVER in_order AS place,
                       sum(m.bytes) OVER (in_order ROWS UNBOUNDED PRECEDING) - m.bytes AS before
                FROM (
                    (SELECT m.no, octet_length(m.item) AS bytes FROM abide.message AS m WHERE m.no = ANY (ARRAY[first.no]))
                    UNION ALL
                    (SELECT m.no, octet_length(m.item) AS bytes FROM abide.message AS m
                     WHERE m.mailbox = b.no AND m.place IS NOT NULL AND m.place IS DISTINCT FROM first.no
                     ORDER BY m.place LIMIT 1000)
                ) AS m
                WINDOW in_order AS (ORDER BY m.no IS DISTINCT FROM first.no, m.no)
            ) AS x
            WHERE x.place <= 1000 AND x.before < 4194304
        ) AS mail
        WHERE b.no = ANY (p_taken)
    ), bounded AS (
        SELECT b.*, sum(b.bytes) OVER (ORDER BY array_position(p_taken, b.mailbox)) - b.bytes AS before FROM batch AS b
    ), leased AS (
        UPDATE abide.mailbox AS b
        SET lease = p_nonces[array_position(p_taken, b.no)], leased_until = p_until, ready = NULL, due_at = p_until,
            batch_to = coalesce(batch.last, 0), batch_first = batch.first
        FROM bounded AS batch WHERE b.no = ANY (ARRAY[batch.mailbox]) AND batch.before < 16777216
        RETURNING b.no, b.id, b.execution, b.last_event, b.status, b.lease, b.batch_to, b.batch_first
    )
    SELECT array_agg(ROW (l.no, l.lease, l.id, l.execution, l.last_event, l.status, i.name, i.version, i.parent,
                          i.parent_execution, i.parent_event)::abide.instance_lease ORDER BY array_position(p_taken, l.no)),
           (SELECT array_agg(ROW (l.no, m.no, m.attempts + 1, m.item)::abide.leased_message
                             ORDER BY array_position(p_taken, l.no), m.no IS DISTINCT FROM l.batch_first, m.no)
            FROM leased AS l
            -- As abide.batch, with what they say.
            CROSS JOIN LATERAL (
                SELECT m.no, m.attempts, m.item FROM abide.message AS m WHERE m.mailbox = l.no AND m.place <= l.batch_to
                UNION ALL
                SELECT m.no, m.attempts, m.item FROM abide.message AS m
                WHERE m.mailbox = l.no AND m.place = l.batch_first AND m.place > l.batch_to
            ) AS m)
    INTO leases, messages
    FROM leased AS l JOIN abide.instance AS i ON i.no = ANY (ARRAY[l.no]);
END $$;
