-- Removes finished activities, each once, and tells their instances; p_items is null for one that tells nothing. outcomes are 'ok',
-- 'lost', or 'invalid' if the completion is for another instance. The mailbox is in the token, so it can be locked before the work is
-- looked at. What calls that wait would take is leased to them at once.
CREATE FUNCTION abide.finish_work(
    p_work bigint[], p_mailboxes bigint[], p_nonces bigint[], p_instances text[], p_items text[],
    p_offer abide.instance_offer,
    OUT outcomes text[], OUT wakes bigint[], OUT due_at bigint,
    OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_locked bigint[] := abide.lock_mailboxes(
        ARRAY(SELECT f.mailbox FROM unnest(p_mailboxes, p_items) AS f (mailbox, item) WHERE f.item IS NOT NULL), '{}', '{}');
    v_sessions text[];
    v_settled record;
BEGIN
    PERFORM FROM abide.work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE;
    now := abide.now();
    SELECT array_agg(CASE WHEN (w.lease = f.nonce AND w.leased_until > now AND w.mailbox = f.mailbox) IS NOT TRUE THEN 'lost'
                          WHEN f.item IS NOT NULL AND f.instance IS DISTINCT FROM i.id THEN 'invalid'
                          ELSE 'ok' END ORDER BY f.place)
    INTO outcomes
    FROM unnest(p_work, p_mailboxes, p_nonces, p_instances, p_items) WITH ORDINALITY
         AS f (work, mailbox, nonce, instance, item, place)
    LEFT JOIN abide.work AS w ON w.no = ANY (ARRAY[f.work])
    LEFT JOIN abide.instance AS i ON i.no = ANY (ARRAY[w.mailbox]);

    INSERT INTO abide.message (mailbox, class, item)
    SELECT f.mailbox, 6, f.item
    FROM unnest(p_mailboxes, p_items, outcomes) WITH ORDINALITY AS f (mailbox, item, outcome, place)
    WHERE f.outcome = 'ok' AND f.item IS NOT NULL
      -- Nobody is told of what no instance can have asked for.
      AND ((SELECT b.execution > 0 FROM abide.mailbox AS b WHERE b.no = f.mailbox) OR abide.is_expected(f.mailbox))
    ORDER BY f.place;
    WITH gone AS (
        DELETE FROM abide.work AS w
        WHERE w.no = ANY (ARRAY(SELECT f.work FROM unnest(p_work, outcomes) AS f (work, outcome) WHERE f.outcome = 'ok'))
        RETURNING w.session
    )
    SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL) INTO v_sessions FROM gone;
    IF v_sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.use_sessions(v_sessions, now);
    END IF;
    v_settled := abide.settle(v_locked, p_offer, now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;    instance_leases := v_settled.leases;    messages := v_settled.messages;
END $$;
