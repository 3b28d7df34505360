-- Commits a turn that concerns nobody but its own instance: it has a lease, what it makes and tells is its own, and it takes nothing back.
-- That is what most turns are, and most calls of a node that is not busy have one of them: a statement for one row costs a third of one for
-- any number of them (docs/adr/0013-alone-and-in-a-backlog.md). Whatever is rare is done as for many. The results are
-- those of abide.commit_turns, for one.
CREATE FUNCTION abide.commit_one(
    p_turn abide.new_turn, p_work abide.new_work[], p_messages abide.new_message[], p_node bigint,
    p_instance_offer abide.instance_offer, p_work_offer abide.work_offer,
    OUT outcome text, OUT instance text, OUT was_running boolean, OUT wakes boolean, OUT due_at bigint, OUT tags text[],
    OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[], OUT work_leases abide.work_lease[],
    OUT last_work bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_box abide.mailbox;
    v_lease bigint;    v_until bigint;    v_of bigint;    v_session text;    -- of the activity that a fused step uses up
    v_lives boolean;    v_begins boolean;
    v_queued record;    v_sessions text[] := '{}';    v_session_tags text[] := '{}';
    v_removed bigint[];    v_unsettled boolean;    v_ready bigint;
    v_pin text;
    v_is_wanted boolean := false;    v_handed record;
BEGIN
    -- Locks, in their order.
    SELECT b.* INTO v_box FROM abide.mailbox AS b WHERE b.no = p_turn.mailbox FOR UPDATE;
    IF p_turn.work IS NOT NULL THEN
        SELECT w.lease, w.leased_until, w.mailbox, w.session INTO v_lease, v_until, v_of, v_session
        FROM abide.work AS w WHERE w.no = p_turn.work FOR UPDATE;
    END IF;
    now := abide.now();
    outcome := abide.verdict(p_turn, v_box, v_lease, v_until, v_of, now);
    instance := v_box.id;    was_running := coalesce(v_box.status IN ('Running', 'ContinuedAsNew'), false);
    tags := '{}';    wakes := false;
    IF outcome <> 'ok' THEN
        RETURN;
    END IF;
    v_lives := p_turn.creates OR v_box.execution > 0;    v_begins := p_turn.execution > v_box.execution;
    -- A fused step has no mail, and leaves none.
    v_unsettled := p_turn.work IS NULL OR v_box.lease IS NOT NULL;

    -- What it used up (abide.batch).
    IF p_turn.work IS NOT NULL THEN
        DELETE FROM abide.work AS w WHERE w.no = p_turn.work;
    ELSIF p_turn.consumes_all THEN
        IF v_box.batch_to > 0 THEN
            DELETE FROM abide.message AS m WHERE m.mailbox = v_box.no AND m.place <= v_box.batch_to;
        END IF;
        IF v_box.batch_first > v_box.batch_to THEN
            DELETE FROM abide.message AS m WHERE m.mailbox = v_box.no AND m.place = v_box.batch_first;
        END IF;
    ELSIF cardinality(p_turn.consumed) > 0 THEN
        DELETE FROM abide.message AS m
        WHERE m.no = ANY (p_turn.consumed) AND (m.mailbox = v_box.no) IS TRUE
          AND (m.place <= v_box.batch_to OR m.place = v_box.batch_first) IS TRUE;
    END IF;

    -- What it says about its instance and its execution, its events and its values.
    IF v_lives THEN
        IF v_begins OR p_turn.status IS NOT NULL OR p_turn.sets_custom_status OR p_turn.name IS NOT NULL OR p_turn.version IS NOT NULL
           OR p_turn.parent IS NOT NULL THEN
            UPDATE abide.instance AS i
            SET name = coalesce(p_turn.name, i.name),
                version = coalesce(p_turn.version, i.version),
                parent = coalesce(i.parent, p_turn.parent),
                parent_execution = CASE WHEN i.parent IS NULL THEN p_turn.parent_execution ELSE i.parent_execution END,
                parent_event = CASE WHEN i.parent IS NULL THEN p_turn.parent_event ELSE i.parent_event END,
                status = CASE WHEN p_turn.status IS NOT NULL THEN p_turn.status WHEN v_begins THEN 'Running' ELSE i.status END,
                completed_at = CASE WHEN p_turn.status IN ('Completed', 'Failed') THEN now
                                    WHEN p_turn.status IS NOT NULL OR v_begins THEN NULL
                                    ELSE i.completed_at END,
                has_past = p_turn.execution > 1,
                created_at = CASE WHEN v_box.execution = 0 THEN now ELSE i.created_at END,
                custom_status = CASE WHEN p_turn.sets_custom_status THEN p_turn.custom_status ELSE i.custom_status END,
                custom_status_version = i.custom_status_version + p_turn.sets_custom_status::integer
            WHERE i.no = v_box.no;
        END IF;
        IF v_begins THEN
            INSERT INTO abide.execution (mailbox, no, status, output, pin, started_at, completed_at)
            VALUES (v_box.no, p_turn.execution, coalesce(p_turn.status, 'Running'),
                    CASE WHEN p_turn.status IS NOT NULL THEN p_turn.output END, coalesce(p_turn.pin, ''), now,
                    CASE WHEN p_turn.status <> 'Running' THEN now END);
        ELSIF p_turn.status IS NOT NULL OR p_turn.pin IS NOT NULL THEN
            UPDATE abide.execution AS e
            SET pin = coalesce(p_turn.pin, e.pin), status = coalesce(p_turn.status, e.status),
                output = CASE WHEN p_turn.status IS NULL THEN e.output ELSE p_turn.output END,
                completed_at = CASE WHEN p_turn.status IS NULL THEN e.completed_at WHEN p_turn.status <> 'Running' THEN now END
            WHERE e.mailbox = v_box.no AND e.no = p_turn.execution;
        END IF;
        IF p_turn.events IS NOT NULL THEN
            INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
            VALUES (v_box.no, p_turn.execution, p_turn.first_event, p_turn.last_event, p_turn.length, p_turn.events);
        END IF;
        IF p_turn.clears_kv OR cardinality(p_turn.changes) > 0
           OR p_turn.folds_kv AND EXISTS (SELECT FROM abide.kv_delta AS d WHERE d.mailbox = v_box.no) THEN
            PERFORM abide.write_kv(ARRAY[p_turn], ARRAY[v_box.no]);
        END IF;
    END IF;

    -- Work, then sessions, which come last in the order: that of a fused step was active; what was queued changes lanes.
    IF cardinality(p_work) > 0 THEN
        v_queued := abide.write_work(p_work, ARRAY[v_box.no], p_node, p_work_offer, now);
        tags := v_queued.tags;    work_leases := v_queued.leases;    last_work := v_queued.last;
        v_sessions := v_queued.sessions;    v_session_tags := v_queued.session_tags;
    END IF;
    IF cardinality(v_sessions) > 0 OR v_session IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions || v_session);
        PERFORM abide.use_sessions(ARRAY[v_session], now);
        PERFORM abide.settle_lanes(v_sessions, v_session_tags, now);
    END IF;

    -- Messages to itself; then timers that nobody waits for.
    IF cardinality(p_messages) > 0 THEN
        v_unsettled := true;
        PERFORM abide.post(p_messages, ARRAY[v_box.no], CASE WHEN v_lives THEN ARRAY[v_box.no] ELSE '{}' END, now);
    END IF;
    IF p_turn.ends_timers THEN
        DELETE FROM abide.message AS m WHERE m.mailbox = v_box.no AND m.class = 4 AND m.execution = p_turn.execution;
        v_unsettled := v_unsettled OR FOUND;
    ELSIF cardinality(p_turn.timers) > 0 THEN
        v_removed := abide.remove_timers(ARRAY[p_turn], ARRAY[v_box.no], '{}');
        v_unsettled := v_unsettled OR cardinality(v_removed) > 0;
    END IF;

    -- Its position, the end of its lease, and what it offers; if somebody waits for that, it is leased to him instead (abide.settle).
    v_pin := CASE WHEN v_lives THEN coalesce(p_turn.pin, CASE WHEN v_begins THEN '' END, v_box.pin) ELSE v_box.pin END;
    IF v_unsettled THEN
        SELECT s.ready, s.due_at INTO v_ready, due_at FROM abide.standing(v_box.no, v_lives) AS s;
        v_is_wanted := v_ready IS NOT NULL AND coalesce(cardinality(p_instance_offer.nonces), 0) > 0
            AND (p_instance_offer.pins IS NULL OR v_pin = '' OR v_pin = ANY (p_instance_offer.pins))
            AND NOT abide.is_passed_by(v_ready, p_instance_offer.pins);
    END IF;
    UPDATE abide.mailbox AS b
    SET execution = CASE WHEN v_lives THEN p_turn.execution ELSE b.execution END,
        last_event = CASE WHEN v_lives THEN coalesce(p_turn.last_event, CASE WHEN v_begins THEN 0 END, b.last_event) ELSE b.last_event END,
        status = CASE WHEN v_lives THEN coalesce(p_turn.status, CASE WHEN v_begins THEN 'Running' END, b.status) ELSE b.status END,
        pin = v_pin,
        updated_at = CASE WHEN v_lives THEN now ELSE b.updated_at END,
        unbroken = CASE WHEN v_lives AND p_turn.execution - b.execution > 1 THEN p_turn.execution ELSE b.unbroken END,
        lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL,
        ready = CASE WHEN v_unsettled AND NOT v_is_wanted THEN v_ready ELSE b.ready END,
        due_at = CASE WHEN v_unsettled AND NOT v_is_wanted THEN commit_one.due_at ELSE b.due_at END
    WHERE b.no = v_box.no;
    IF v_is_wanted THEN
        v_handed := abide.hand_out(ARRAY[v_box.no], p_instance_offer.nonces, abide.later(now, p_instance_offer.lease_ms));
        instance_leases := v_handed.leases;    messages := v_handed.messages;    due_at := NULL;
    ELSE
        wakes := v_ready IS NOT NULL;
    END IF;
END $$;
