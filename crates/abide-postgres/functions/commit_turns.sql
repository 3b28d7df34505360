-- Commits turns of different instances, each for itself. outcomes[turn] is 'ok', or why it was refused (abide.judge). An error, of
-- which a sound caller sees none but those that pass, undoes them all, and the caller repeats them by halves.
--
-- p_outline says what the turns are like, and who is known by name only.
--
-- instances[turn]: whose turn it was. was_running[turn]: whether it was an instance that had not ended. pruned_…[turn]: what its prune
-- took. The other results are news for those who wait, to be told when this is committed: under which routes an instance can be leased, when
-- that may change, under which there is new work, and whose leases on work are gone, and why. What calls that wait would take of it, by
-- the offers, is leased to them at once, and not told. last_work is the highest number of new work.
CREATE FUNCTION abide.commit_turns(
    p_turns abide.new_turn[], p_work abide.new_work[], p_revoked abide.revoked_work[], p_messages abide.new_message[],
    p_outline abide.outline, p_instance_offer abide.instance_offer, p_work_offer abide.work_offer,
    OUT outcomes text[], OUT instances text[], OUT was_running boolean[], OUT pruned_executions bigint[], OUT pruned_events bigint[],
    OUT wakes bigint[], OUT due_at bigint, OUT routes bigint[], OUT stolen text[], OUT because text[],
    OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[], OUT work_leases abide.work_lease[],
    OUT last_work bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_made bigint[] := '{}';
    v_mailboxes bigint[] := p_outline.mailboxes;    -- per turn; null from the moment it is refused
    v_living bigint[];       -- the same, but for turns that make no instance of what is none
    v_verdict record;
    -- What is to be done, but for that of turns that are refused.
    v_telling abide.new_turn[] := p_turns;
    v_work abide.new_work[] := p_work;    v_messages abide.new_message[] := p_messages;    v_finished bigint[] := p_outline.work;
    v_locked bigint[];
    v_mailed bigint[];    v_unsettled bigint[];            -- mailboxes with new mail; those whose readiness may have changed
    v_doomed abide.numbered[] := '{}';    v_why text[];    -- work to be taken back
    v_pruned abide.numbered[];                             -- executions to be pruned
    v_taken record;    v_queued record;    v_settled record;
    v_executions bigint[];
    v_sessions text[] := '{}';    v_session_routes bigint[] := '{}';
    v_turn integer;
    v_waits boolean;
BEGIN
    IF cardinality(p_outline.required) > 0 THEN
        v_made := abide.register(p_outline.required);
    END IF;

    -- Locks, in their order: mailboxes, then every work row that may be deleted.
    IF cardinality(p_outline.required) > 0 OR cardinality(p_outline.optional) > 0 THEN
        v_locked := abide.lock_mailboxes(v_mailboxes, p_outline.required, p_outline.optional);
    ELSE
        SELECT bool_or(l.flags & 4 = 4) INTO v_waits
        FROM (SELECT b.flags FROM abide.mailbox AS b WHERE b.no = ANY (v_mailboxes) ORDER BY b.no FOR UPDATE) AS l;
        v_locked := v_mailboxes;
        IF v_waits THEN
            -- A fused step may make an instance of a name that has mail.
            PERFORM abide.forget_expired(v_mailboxes, '{}', abide.now());
        END IF;
    END IF;
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
    IF cardinality(v_doomed) > 0 THEN
        PERFORM FROM abide.work AS w
        WHERE w.no = ANY (ARRAY(SELECT d.number FROM unnest(v_doomed) AS d) || p_outline.work) ORDER BY w.no FOR UPDATE;
    ELSIF cardinality(p_outline.work) > 0 THEN
        PERFORM FROM abide.work AS w WHERE w.no = ANY (p_outline.work) ORDER BY w.no FOR UPDATE;
    END IF;

    now := abide.now();
    v_verdict := abide.judge(p_turns, v_mailboxes, now);
    outcomes := v_verdict.outcomes;        instances := v_verdict.instances;    was_running := v_verdict.was_running;
    v_mailboxes := v_verdict.mailboxes;    v_living := v_verdict.living;        v_unsettled := v_verdict.unsettled;
    pruned_executions := array_fill(0, ARRAY[cardinality(p_turns)]);    pruned_events := pruned_executions;
    IF array_position(v_mailboxes, NULL) IS NOT NULL THEN
        v_work := ARRAY(SELECT w FROM unnest(p_work) AS w WHERE v_mailboxes[w.turn] IS NOT NULL);
        v_messages := ARRAY(SELECT m FROM unnest(p_messages) AS m WHERE v_mailboxes[m.turn] IS NOT NULL);
        v_finished := ARRAY(SELECT t.work FROM unnest(p_turns) AS t WHERE v_mailboxes[t.turn] IS NOT NULL AND t.work IS NOT NULL);
    END IF;
    IF (true = ANY (v_verdict.says)) IS NOT TRUE THEN
        v_telling := '{}';
    ELSIF false = ANY (v_verdict.says) THEN
        v_telling := ARRAY(SELECT t FROM unnest(p_turns) AS t WHERE v_verdict.says[t.turn]);
    END IF;

    -- What concerns each instance alone: what it used up, its execution, its events and its values, its position, and the end of its lease.
    IF v_verdict.emptied IS NOT NULL THEN
        DELETE FROM abide.message AS m
        USING abide.mailbox AS b, LATERAL abide.batch(b.no, b.batch_to, b.batch_first, b.batch_cancel) AS handed_out (no)
        WHERE b.no = ANY (v_verdict.emptied) AND m.no = ANY (ARRAY[handed_out.no]);
    END IF;
    IF p_outline.consumes_some THEN
        -- Those that are of the lease. "Is true" keeps their mailbox from being looked up: it may have much mail.
        DELETE FROM abide.message AS m USING unnest(p_turns) AS t, abide.mailbox AS b
        WHERE t.authority = 'lease' AND b.no = ANY (ARRAY[v_mailboxes[t.turn]]) AND m.no = ANY (t.consumed)
          AND (m.mailbox = b.no) IS TRUE AND (m.place <= b.batch_to OR m.place IN (b.batch_first, b.batch_cancel)) IS TRUE;
    END IF;
    IF cardinality(v_telling) > 0 THEN
        PERFORM abide.write_executions(v_telling, v_living, v_verdict.begins, v_verdict.alters, now);
    END IF;
    INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
    SELECT v_living[t.turn], t.execution, t.first_event, t.last_event, t.length, t.events
    FROM unnest(p_turns) AS t WHERE v_living[t.turn] IS NOT NULL AND t.events IS NOT NULL;
    IF p_outline.writes_kv THEN
        PERFORM abide.write_kv(p_turns, v_living);
    END IF;
    UPDATE abide.mailbox AS b
    SET execution = CASE WHEN n.lives THEN n.execution ELSE b.execution END,
        last_event = CASE WHEN n.lives THEN coalesce(n.last_event, CASE WHEN n.execution > b.execution THEN 0 END, b.last_event)
                          ELSE b.last_event END,
        status = CASE WHEN n.lives THEN coalesce(n.status, CASE WHEN n.execution > b.execution THEN 'Running' END, b.status)
                      ELSE b.status END,
        pin = CASE WHEN n.lives THEN coalesce(n.pin, CASE WHEN n.execution > b.execution THEN '' END, b.pin) ELSE b.pin END,
        updated_at = CASE WHEN n.lives THEN now ELSE b.updated_at END,
        waiting = CASE WHEN n.lives THEN n.waiting ELSE b.waiting END,
        unbroken = CASE WHEN n.lives AND n.execution - b.execution > 1 THEN n.execution ELSE b.unbroken END,
        -- The route of one that ended is not looked at.
        route = CASE WHEN n.lives AND (n.execution > b.execution OR n.reroutes) THEN 0 ELSE b.route END,
        -- Giving an instance a past ends nobody's lease.
        lease = CASE WHEN n.authority = 'none' THEN b.lease END,
        leased_until = CASE WHEN n.authority = 'none' THEN b.leased_until END,
        batch_to = CASE WHEN n.authority = 'none' THEN b.batch_to END,
        batch_first = CASE WHEN n.authority = 'none' THEN b.batch_first END,
        batch_cancel = CASE WHEN n.authority = 'none' THEN b.batch_cancel END
    FROM (SELECT t.turn, t.execution, t.last_event, t.status, t.pin, t.authority, t.waiting, v_living[t.turn] IS NOT NULL AS lives,
                 coalesce(t.status = 'Running', false) OR t.pin IS NOT NULL OR t.name IS NOT NULL OR t.version IS NOT NULL AS reroutes
          FROM unnest(p_turns) AS t) AS n
    WHERE b.no = ANY (ARRAY[v_mailboxes[n.turn]]);

    -- Work: those rows that go, which nobody should be given any more, then new ones.
    routes := '{}';    stolen := '{}';    because := '{}';
    IF cardinality(v_doomed) > 0 THEN
        v_taken := abide.take_back(
            ARRAY(SELECT CASE WHEN v_mailboxes[d.turn] IS NOT NULL THEN d.number END FROM unnest(v_doomed) AS d), v_why, now);
        stolen := v_taken.stolen;    because := v_taken.because;    v_sessions := v_taken.sessions;
    END IF;
    IF cardinality(p_outline.work) > 0 THEN
        DELETE FROM abide.work AS w WHERE w.no = ANY (v_finished);
    END IF;
    IF cardinality(v_work) > 0 THEN
        v_queued := abide.write_work(v_work, v_mailboxes, p_outline.node, p_work_offer, now);
        routes := v_queued.routes;    work_leases := v_queued.leases;    last_work := v_queued.last;
        -- The lanes to settle; those of what was taken back are there.
        v_sessions := v_queued.sessions || v_sessions;    v_session_routes := v_queued.session_routes;
    END IF;
    -- Sessions come last in the order: that of a fused step was active; what was queued or taken back changes lanes.
    IF cardinality(v_sessions) > 0 OR v_verdict.sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions || v_verdict.sessions);
        PERFORM abide.use_sessions(v_verdict.sessions, now);
        PERFORM abide.settle_lanes(v_sessions, v_session_routes, now);
    END IF;

    -- Messages, in order; then timers that nobody waits for.
    IF cardinality(v_messages) > 0 THEN
        SELECT p.mailed INTO v_mailed FROM abide.post(v_messages, v_locked, v_living, now) AS p;
        IF (v_mailed <@ v_unsettled) IS NOT TRUE THEN
            v_unsettled := ARRAY(SELECT unnest(v_unsettled) UNION SELECT unnest(v_mailed));
        END IF;
    END IF;
    IF p_outline.timers THEN
        v_unsettled := abide.remove_timers(p_turns, v_mailboxes, v_unsettled);
    END IF;

    IF v_living IS DISTINCT FROM v_mailboxes THEN
        -- A turn that makes no instance may have used up the start.
        PERFORM abide.await_start(v_mailboxes, now);
    END IF;

    IF p_outline.prunes THEN
        FOR v_turn, v_executions IN
            SELECT p.turn, array_agg(p.number) FROM unnest(v_pruned) AS p WHERE v_mailboxes[p.turn] IS NOT NULL GROUP BY p.turn
        LOOP
            pruned_executions[v_turn] := cardinality(v_executions);
            pruned_events[v_turn] := abide.drop_executions(v_mailboxes[v_turn], v_executions);
        END LOOP;
    END IF;
    IF cardinality(v_made) > 0 AND EXISTS (SELECT FROM unnest(outcomes) AS o WHERE o <> 'ok') THEN
        PERFORM abide.unregister(v_made);
    END IF;
    IF v_verdict.refuses THEN
        PERFORM abide.heal(b.no, t.execution, b.status, t.still_refused, now) FROM unnest(p_turns) AS t
        JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[v_mailboxes[t.turn]])
        WHERE b.flags & 1 = 1 AND t.authority <> 'none';
    END IF;
    wakes := '{}';
    IF cardinality(v_unsettled) > 0 THEN
        v_settled := abide.settle(v_unsettled, p_instance_offer, now);
        wakes := v_settled.wakes;    due_at := v_settled.due_at;
        instance_leases := v_settled.leases;    messages := v_settled.messages;
    END IF;
END $$;
