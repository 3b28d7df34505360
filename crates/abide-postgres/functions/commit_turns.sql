-- Commits turns of different instances, each for itself. outcomes[turn] is 'ok', or why it was refused (abide.judge). An error, of
-- which a sound caller sees none but those that pass, undoes them all, and the caller repeats them by halves.
--
-- p_outline says what the turns are like, and who is known by name only.
--
-- instances[turn]: whose turn it was. was_running[turn]: whether it was an instance that had not ended. pruned_…[turn]: what its prune
-- took. The other results are news for those who wait, to be told when this is committed: whether an instance can be leased, when that
-- may change, under which tags there is new work, and whose leases on work are gone, and why. What calls that wait would take of it, by
-- the offers, is leased to them at once, and not told.
CREATE FUNCTION abide.commit_turns(
    p_turns abide.new_turn[], p_consumed abide.numbered[], p_values abide.new_value[], p_work abide.new_work[],
    p_revoked abide.revoked_work[], p_messages abide.new_message[], p_timers abide.numbered[],
    p_outline abide.outline, p_instance_offer abide.instance_offer, p_work_offer abide.work_offer,
    OUT outcomes text[], OUT instances text[], OUT was_running boolean[], OUT pruned_executions bigint[], OUT pruned_events bigint[],
    OUT wakes boolean, OUT due_at bigint, OUT tags text[], OUT stolen text[], OUT because text[],
    OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[], OUT work_leases abide.work_lease[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_made bigint[] := '{}';
    v_mailboxes bigint[] := p_outline.mailboxes;    -- per turn; null from the moment it is refused
    v_living bigint[];       -- the same, but for turns that make no instance of what is none
    v_says boolean[];        -- per turn: it says something about its instance or execution, beyond its events
    v_verdict record;
    -- What is to be done, but for that of turns that are refused, or that have none of it.
    v_telling abide.new_turn[] := p_turns;    v_work abide.new_work[] := p_work;    v_messages abide.new_message[] := p_messages;
    v_locked bigint[];
    v_doomed abide.numbered[] := '{}';    v_why text[];    -- work to be taken back
    v_pruned abide.numbered[];                             -- executions to be pruned
    v_executions bigint[];
    v_sessions text[];       v_session_tags text[];    v_used text[] := '{}';    v_gone text[] := '{}';
    v_turn integer;
BEGIN
    IF cardinality(p_outline.required) > 0 THEN
        v_made := abide.register(p_outline.required);
    END IF;

    -- Locks, in their order: mailboxes, then every work row that may be deleted.
    v_locked := abide.lock_mailboxes(v_mailboxes, p_outline.required, p_outline.optional);
    IF p_outline.names THEN
        SELECT array_agg(CASE t.authority WHEN 'none' THEN (SELECT i.no FROM abide.instance AS i WHERE i.id = t.instance)
                                          ELSE t.mailbox END ORDER BY t.turn)
        INTO v_mailboxes FROM unnest(p_turns) AS t;
    END IF;
    IF cardinality(p_revoked) > 0 OR p_outline.prunes THEN
        v_pruned := ARRAY(
            SELECT ROW (t.turn, e)::abide.numbered FROM unnest(p_turns) AS t
            JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[v_mailboxes[t.turn]])
            CROSS JOIN LATERAL unnest(abide.prunable(
                b.no, t.execution, CASE WHEN t.execution - b.execution > 1 THEN t.execution ELSE b.unbroken END,
                t.keeps, t.ended_before, 256)) AS e
            WHERE t.keeps IS NOT NULL ORDER BY t.turn);
        SELECT coalesce(array_agg(ROW (d.turn, d.no)::abide.numbered ORDER BY d.no), '{}'), array_agg(d.because ORDER BY d.no)
        INTO v_doomed, v_why
        FROM (
            SELECT r.turn, w.no, r.because
            FROM unnest(p_revoked) AS r
            JOIN abide.instance AS i ON i.id = ANY (ARRAY[r.instance])
            JOIN abide.work AS w ON w.mailbox = ANY (ARRAY[i.no]) AND w.execution = r.execution AND w.activity = r.activity
            UNION ALL
            SELECT d.turn, w.no, 'deleted'
            FROM unnest(v_pruned) AS d
            JOIN abide.work AS w ON w.mailbox = ANY (ARRAY[v_mailboxes[d.turn]]) AND w.execution = d.number
        ) AS d
        -- What a fused step finished is not taken back.
        WHERE NOT EXISTS (SELECT FROM unnest(p_turns) AS t WHERE t.turn = d.turn AND t.work = d.no);
    END IF;
    IF p_outline.fuses OR cardinality(v_doomed) > 0 THEN
        PERFORM FROM abide.work AS w
        WHERE w.no = ANY (ARRAY(SELECT d.number FROM unnest(v_doomed) AS d)
                          || ARRAY(SELECT t.work FROM unnest(p_turns) AS t WHERE t.authority = 'work'))
        ORDER BY w.no FOR UPDATE;
    END IF;

    now := abide.now();
    v_verdict := abide.judge(p_turns, v_mailboxes, now);
    outcomes := v_verdict.outcomes;        instances := v_verdict.instances;    was_running := v_verdict.was_running;
    v_mailboxes := v_verdict.mailboxes;    v_living := v_verdict.living;        v_says := v_verdict.says;
    pruned_executions := array_fill(0, ARRAY[cardinality(p_turns)]);    pruned_events := pruned_executions;
    IF array_position(v_mailboxes, NULL) IS NOT NULL THEN
        v_work := ARRAY(SELECT w FROM unnest(p_work) AS w WHERE v_mailboxes[w.turn] IS NOT NULL);
        v_messages := ARRAY(SELECT m FROM unnest(p_messages) AS m WHERE v_mailboxes[m.turn] IS NOT NULL);
    END IF;
    IF (true = ANY (v_says)) IS NOT TRUE THEN
        v_telling := '{}';
    ELSIF false = ANY (v_says) THEN
        v_telling := ARRAY(SELECT t FROM unnest(p_turns) AS t WHERE v_says[t.turn]);
    END IF;

    -- Messages that were consumed: a whole batch, or those named if they are of it.
    IF p_outline.consumes_all THEN
        DELETE FROM abide.message AS m
        USING unnest(p_turns) AS t, abide.mailbox AS b, LATERAL abide.batch(b.no, b.batch_to, b.batch_first) AS handed_out (no)
        WHERE t.authority = 'lease' AND t.consumes_all AND b.no = ANY (ARRAY[v_mailboxes[t.turn]])
          AND m.no = ANY (ARRAY[handed_out.no]);
    END IF;
    IF p_outline.consumes_some THEN
        DELETE FROM abide.message AS m
        USING unnest(p_consumed) AS c, unnest(p_turns) AS t, abide.mailbox AS b
        WHERE t.turn = c.turn AND t.authority = 'lease' AND b.no = ANY (ARRAY[v_mailboxes[t.turn]]) AND m.no = ANY (ARRAY[c.number])
          AND m.mailbox = ANY (ARRAY[b.no]) AND (m.place <= b.batch_to OR m.place = b.batch_first);
    END IF;

    IF cardinality(v_telling) > 0 THEN
        PERFORM abide.write_executions(v_telling, v_living, v_verdict.begins, v_verdict.alters, now);
    END IF;
    INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
    SELECT v_living[t.turn], t.execution, t.first_event, t.last_event, t.length, t.events
    FROM unnest(p_turns) AS t WHERE v_living[t.turn] IS NOT NULL AND t.events IS NOT NULL;
    IF p_outline.writes_kv THEN
        PERFORM abide.write_kv(p_turns, p_values, v_living);
    END IF;

    -- Work: those rows that go, which nobody should be given any more, then new ones.
    tags := '{}';    stolen := '{}';    because := '{}';    v_sessions := '{}';    v_session_tags := '{}';
    IF cardinality(v_doomed) > 0 THEN
        SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_gone
        FROM abide.take_back(
            ARRAY(SELECT CASE WHEN v_mailboxes[d.turn] IS NOT NULL THEN d.number END FROM unnest(v_doomed) AS d), v_why, now) AS g;
    END IF;
    IF cardinality(v_work) > 0 THEN
        SELECT q.tags, q.sessions, q.session_tags, q.leases INTO tags, v_sessions, v_session_tags, work_leases
        FROM abide.write_work(v_work, v_mailboxes, p_outline.node, p_work_offer, now) AS q;
    END IF;
    v_sessions := v_sessions || v_gone;

    -- Sessions come last in the order: that of a fused step was active; what was queued or taken back changes lanes.
    IF p_outline.fuses THEN
        WITH finished AS (
            DELETE FROM abide.work AS w USING unnest(p_turns) AS t
            WHERE w.no = ANY (ARRAY[t.work]) AND v_mailboxes[t.turn] IS NOT NULL RETURNING w.session
        )
        SELECT coalesce(array_agg(f.session), '{}') INTO v_used FROM finished AS f WHERE f.session IS NOT NULL;
    END IF;
    IF cardinality(v_sessions) > 0 OR cardinality(v_used) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions || v_used);
        PERFORM abide.use_sessions(v_used, now);
        PERFORM abide.settle_lanes(v_sessions, v_session_tags, now);
    END IF;

    -- Messages, in order; then timers that nobody waits for.
    IF cardinality(v_messages) > 0 THEN
        PERFORM abide.post(v_messages, v_locked, v_living, now);
    END IF;
    IF cardinality(p_timers) > 0 THEN
        -- Offset 0: one look at the index for each, however small the table was when this was planned.
        DELETE FROM abide.message WHERE no = ANY (ARRAY(
            SELECT m.no FROM unnest(p_timers) AS n JOIN unnest(p_turns) AS t ON t.turn = n.turn
            CROSS JOIN LATERAL (
                SELECT m.no FROM abide.message AS m
                WHERE m.mailbox = v_mailboxes[n.turn] AND m.class = 4 AND m.execution = t.execution AND m.event = n.number OFFSET 0
            ) AS m));
    END IF;
    IF p_outline.ends_timers THEN
        DELETE FROM abide.message WHERE no = ANY (ARRAY(
            SELECT m.no FROM unnest(p_turns) AS t
            CROSS JOIN LATERAL (
                SELECT m.no FROM abide.message AS m
                WHERE m.mailbox = v_mailboxes[t.turn] AND m.class = 4 AND m.execution = t.execution OFFSET 0
            ) AS m WHERE t.ends_timers));
    END IF;

    -- The position, the lease and the readiness of each instance, in one write to its row.
    WITH settled AS (
        UPDATE abide.mailbox AS b
        SET execution = n.execution, last_event = n.last_event, status = n.status, pin = n.pin, updated_at = n.updated_at,
            unbroken = n.unbroken,
            lease = CASE WHEN n.keeps_lease THEN b.lease END,
            leased_until = CASE WHEN n.keeps_lease THEN b.leased_until END,
            batch_to = CASE WHEN n.keeps_lease THEN b.batch_to END, batch_first = CASE WHEN n.keeps_lease THEN b.batch_first END,
            ready = CASE WHEN n.keeps_lease THEN b.ready ELSE s.ready END,
            due_at = CASE WHEN n.keeps_lease THEN b.due_at ELSE s.due_at END
        FROM (
            SELECT b.no,
                   CASE WHEN lives THEN t.execution ELSE b.execution END AS execution,
                   CASE WHEN NOT lives THEN b.last_event
                        ELSE coalesce(t.last_event, CASE WHEN t.execution > b.execution THEN 0 ELSE b.last_event END) END AS last_event,
                   CASE WHEN NOT lives THEN b.status
                        WHEN t.status IS NOT NULL THEN t.status
                        WHEN t.execution > b.execution THEN 'Running' ELSE b.status END AS status,
                   CASE WHEN NOT lives THEN b.pin
                        ELSE coalesce(t.pin, CASE WHEN t.execution > b.execution THEN '' ELSE b.pin END) END AS pin,
                   CASE WHEN lives THEN now ELSE b.updated_at END AS updated_at,
                   CASE WHEN lives AND t.execution - b.execution > 1 THEN t.execution ELSE b.unbroken END AS unbroken,
                   t.authority = 'none' AND b.lease IS NOT NULL AS keeps_lease    -- giving it a past ends nobody's lease
            FROM unnest(p_turns) AS t
            JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[v_mailboxes[t.turn]])
            CROSS JOIN LATERAL (SELECT v_living[t.turn] IS NOT NULL AS lives) AS l
        ) AS n
        CROSS JOIN LATERAL abide.standing(n.no, n.execution > 0) AS s
        WHERE b.no = ANY (ARRAY[n.no])
        RETURNING b.lease, b.ready, b.due_at
    )
    SELECT coalesce(bool_or(s.ready IS NOT NULL), false), min(s.due_at) INTO wakes, due_at FROM settled AS s WHERE s.lease IS NULL;

    IF p_outline.prunes THEN
        FOR v_turn, v_executions IN
            SELECT p.turn, array_agg(p.number) FROM unnest(v_pruned) AS p WHERE v_living[p.turn] IS NOT NULL GROUP BY p.turn
        LOOP
            pruned_executions[v_turn] := cardinality(v_executions);
            pruned_events[v_turn] := abide.drop_executions(v_mailboxes[v_turn], v_executions);
        END LOOP;
    END IF;
    IF cardinality(v_made) > 0 AND EXISTS (SELECT FROM unnest(outcomes) AS o WHERE o <> 'ok') THEN
        PERFORM abide.unregister(v_made);
    END IF;
    -- The others that are locked: those that mail was sent to, and those of turns that were refused.
    IF NOT v_locked <@ v_mailboxes THEN
        SELECT wakes OR s.wakes, least(due_at, s.due_at) INTO wakes, due_at
        FROM abide.settle(ARRAY(SELECT unnest(v_locked) EXCEPT SELECT unnest(v_mailboxes))) AS s;
    END IF;
    IF wakes AND cardinality(p_instance_offer.nonces) > 0 THEN
        SELECT h.leases, h.messages, h.wakes INTO instance_leases, messages, wakes
        FROM abide.hand_over(v_locked, p_instance_offer, now) AS h;
    END IF;
END $$;
