-- Enqueues messages of clients. A key makes repeating the call safe: one that was seen within the hour does nothing. A start that is
-- only_once is not sent if there is such an instance, or one is about to be; there is at most one of each
-- name in a call. Anything else that is only_once is sent only if there is one, or one is about to be.
-- outcomes are 'ok', 'waits' (for a start), 'dropped' (by abide.post), 'repeated', 'exists' or 'absent'. What calls that wait would take is leased to them at
-- once. Keys come before mailboxes in the lock order; no other call takes one.
CREATE FUNCTION abide.enqueue_messages(
    p_messages abide.new_message[], p_delays_ms bigint[], p_keys bytea[], p_only_once boolean[],
    p_offer abide.instance_offer,
    OUT outcomes text[], OUT wakes bigint[], OUT due_at bigint,
    OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_hour_ago bigint;
    v_new bytea[];
    v_required text[];
    v_made bigint[];
    v_locked bigint[];
    v_waiting bigint[];    v_dropped integer[];    v_settled record;
BEGIN
    now := abide.now();
    v_hour_ago := now - 3600000;
    WITH seen AS (
        INSERT INTO abide.request AS r (key, seen_at)
        SELECT DISTINCT k, now FROM unnest(p_keys) AS k WHERE k IS NOT NULL ORDER BY k
        ON CONFLICT (key) DO UPDATE SET seen_at = now WHERE r.seen_at <= v_hour_ago
        RETURNING key
    )
    SELECT coalesce(array_agg(key), '{}') INTO v_new FROM seen;
    SELECT array_agg(CASE WHEN k.key IS NULL OR (k.key = ANY (v_new) AND k.nth = 1) THEN 'ok' ELSE 'repeated' END ORDER BY k.place)
    INTO outcomes
    FROM (SELECT k.*, row_number() OVER (PARTITION BY k.key ORDER BY k.place) AS nth
          FROM unnest(p_keys) WITH ORDINALITY AS k (key, place)) AS k;

    -- Some that are forgotten go, once nothing waits for a key any more: more than come, so that they do not pile up.
    DELETE FROM abide.request WHERE key = ANY (ARRAY(
        SELECT r.key FROM abide.request AS r WHERE r.seen_at <= v_hour_ago
        ORDER BY r.seen_at LIMIT 16 + 2 * cardinality(p_keys) FOR UPDATE SKIP LOCKED));

    v_required := ARRAY(SELECT m.recipient FROM unnest(p_messages) AS m
                        WHERE NOT (m.class IN (3, 4, 6) OR p_only_once[m.turn] AND m.class NOT IN (1, 2))
                          AND outcomes[m.turn] = 'ok');
    v_made := abide.register(v_required);
    v_locked := abide.lock_mailboxes(
        '{}', v_required, ARRAY(SELECT m.recipient FROM unnest(p_messages) AS m
                                WHERE (m.class IN (3, 4, 6) OR p_only_once[m.turn] AND m.class NOT IN (1, 2))
                                  AND outcomes[m.turn] = 'ok'));
    now := abide.now();

    SELECT array_agg(CASE WHEN outcomes[m.turn] <> 'ok' OR NOT p_only_once[m.turn] THEN outcomes[m.turn]
                          WHEN (b.execution > 0 OR EXISTS (
                                    SELECT FROM abide.message AS s WHERE s.mailbox = ANY (ARRAY[b.no]) AND s.class IN (1, 2)))
                               AND (m.class IN (1, 2) OR b.no = ANY (v_locked))
                          THEN CASE WHEN m.class IN (1, 2) THEN 'exists' ELSE 'ok' END
                          ELSE CASE WHEN m.class IN (1, 2) THEN 'ok' ELSE 'absent' END END ORDER BY m.turn)
    INTO outcomes
    FROM unnest(p_messages) AS m
    LEFT JOIN abide.instance AS i ON i.id = ANY (ARRAY[m.recipient]) LEFT JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no]);
    -- A key is only remembered by a message that was sent.
    DELETE FROM abide.request WHERE key = ANY (ARRAY(
        SELECT k.key FROM unnest(p_keys, outcomes) AS k (key, outcome) WHERE k.outcome IN ('exists', 'absent')));

    SELECT p.unstarted, p.dropped INTO v_waiting, v_dropped FROM abide.post(
        ARRAY(SELECT ROW (m.turn, m.recipient, m.class, greatest(m.visible_at, abide.later(now, p_delays_ms[m.turn])),
                          m.execution, m.event, m.parent, m.item, m.orchestration, m.version)::abide.new_message
              FROM unnest(p_messages) AS m WHERE outcomes[m.turn] = 'ok' ORDER BY m.turn),
        v_locked, '{}', now) AS p;
    IF v_waiting IS NOT NULL THEN
        SELECT array_agg(CASE WHEN outcomes[m.turn] = 'ok' AND m.class IN (0, 5) AND i.no = ANY (v_waiting) AND NOT abide.is_expected(i.no)
                              THEN 'waits' ELSE outcomes[m.turn] END ORDER BY m.turn)
        INTO outcomes FROM unnest(p_messages) AS m LEFT JOIN abide.instance AS i ON i.id = ANY (ARRAY[m.recipient]);
    END IF;
    IF v_dropped IS NOT NULL THEN
        SELECT array_agg(CASE WHEN o.place = ANY (v_dropped) THEN 'dropped' ELSE o.outcome END ORDER BY o.place)
        INTO outcomes FROM unnest(outcomes) WITH ORDINALITY AS o (outcome, place);
    END IF;
    v_settled := abide.settle(v_locked, p_offer, now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;    instance_leases := v_settled.leases;    messages := v_settled.messages;
END $$;
