-- Gives leases back without a commit: the messages of each count one attempt more unless it is ignored, and are hidden for a while if
-- there is a delay. outcomes are 'ok' or 'lost', one per token; a token comes once.
CREATE FUNCTION abide.abandon_instances(
    p_mailboxes bigint[], p_nonces bigint[], p_delays_ms bigint[], p_ignored boolean[],
    OUT outcomes text[], OUT wakes bigint[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_held bigint[];
    v_settled record;
BEGIN
    PERFORM FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) ORDER BY b.no FOR UPDATE;
    v_now := abide.now();
    v_held := ARRAY(SELECT b.no FROM unnest(p_mailboxes, p_nonces) AS a (no, nonce)
                    JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[a.no]) AND b.lease = a.nonce AND b.leased_until > v_now);
    UPDATE abide.message AS m
    SET attempts = m.attempts + CASE WHEN a.ignored THEN 0 ELSE 1 END,
        visible_at = abide.later(v_now, a.delay)
    FROM unnest(p_mailboxes, p_delays_ms, p_ignored) AS a (no, delay, ignored)
    JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[a.no])
    CROSS JOIN LATERAL abide.batch(b.no, b.batch_to, b.batch_first, b.batch_cancel) AS handed_out (no)
    WHERE b.no = ANY (v_held) AND m.no = ANY (ARRAY[handed_out.no]) AND (a.delay IS NOT NULL OR NOT a.ignored);
    UPDATE abide.mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL, batch_cancel = NULL WHERE no = ANY (v_held);
    v_settled := abide.settle(v_held, NULL, v_now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;
    outcomes := ARRAY(SELECT CASE WHEN a.no = ANY (v_held) THEN 'ok' ELSE 'lost' END
                      FROM unnest(p_mailboxes) WITH ORDINALITY AS a (no, place) ORDER BY a.place);
END $$;
