-- Commits a turn that concerns nobody but its own instance: it has a lease, what it makes and tells is its own, and it takes nothing back.
-- That is what most turns are, and most calls of a node that is not busy have one of them: a statement for one row costs a third of one for
-- any number of them
-- (docs/adr/0013-commit-lone-turns-separately-and-batch-commits-in-a-backlog.md).
-- Whatever is rare is done as for many. The results are
-- those of abide.commit_turns, for one.
CREATE FUNCTION abide.commit_one(
    p_turn abide.new_turn, p_work abide.new_work[], p_messages abide.new_message[], p_node bigint,
    p_instance_offer abide.instance_offer, p_work_offer abide.work_offer,
    OUT outcome text, OUT instance text, OUT was_running boolean, OUT wakes bigint[], OUT due_at bigint, OUT routes bigint[],
    OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[], OUT work_leases abide.work_lease[],
    OUT last_work bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_box abide.mailbox;
    v_lease bigint;    v_leased_until bigint;    v_of bigint;    v_session text;    -- of the activity that a fused step uses up
    v_lives boolean;    v_begins boolean;
    v_was abide.instance;    v_is abide.instance;
    v_queued record;    v_sessions text[] := '{}';    v_session_routes bigint[] := '{}';
    v_unsettled boolean;    v_ready bigint;    v_due bigint;    v_attempts integer;    -- what it offers, and when that changes
    v_message abide.new_message;    v_sent bigint;    v_hidden_until bigint;    -- its only message
    v_may_have_timers boolean := true;    v_looks_again boolean;
    v_is_wanted boolean;    v_is_known boolean;    v_until bigint;    v_handed record;    -- whether and how it is leased again
BEGIN
    -- Locks, in their order.
    SELECT b.* INTO v_box FROM abide.mailbox AS b WHERE b.no = p_turn.mailbox FOR UPDATE;
    IF p_turn.work IS NOT NULL THEN
        SELECT w.lease, w.leased_until, w.mailbox, w.session INTO v_lease, v_leased_until, v_of, v_session
        FROM abide.work AS w WHERE w.no = p_turn.work FOR UPDATE;
    END IF;
    now := abide.now();
    IF v_box.flags & 4 = 4 THEN
        -- A fused step may make an instance of a name that has mail.
        PERFORM abide.forget_expired(ARRAY[v_box.no], '{}', now);
    END IF;
    outcome := abide.verdict(p_turn, v_box, v_lease, v_leased_until, v_of, now);
    instance := v_box.id;    was_running := coalesce(v_box.status IN ('Running', 'ContinuedAsNew'), false);
    routes := '{}';    wakes := '{}';
    IF outcome <> 'ok' THEN
        RETURN;
    END IF;
    v_lives := p_turn.creates OR v_box.execution > 0;    v_begins := p_turn.execution > v_box.execution;

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
        IF v_box.batch_cancel IS NOT NULL THEN
            DELETE FROM abide.message AS m WHERE m.mailbox = v_box.no AND m.place = v_box.batch_cancel;
        END IF;
    ELSIF cardinality(p_turn.consumed) > 0 THEN
        DELETE FROM abide.message AS m
        WHERE m.no = ANY (p_turn.consumed) AND (m.mailbox = v_box.no) IS TRUE
          AND (m.place <= v_box.batch_to OR m.place IN (v_box.batch_first, v_box.batch_cancel)) IS TRUE;
    END IF;

    -- What it says about its instance and its execution, its events and its values.
    IF v_lives THEN
        IF v_begins OR p_turn.status IS NOT NULL OR p_turn.sets_custom_status OR p_turn.name IS NOT NULL OR p_turn.version IS NOT NULL
           OR p_turn.parent IS NOT NULL THEN
            -- Written only if it is news: who continues as new says the same again.
            SELECT i.* INTO v_was FROM abide.instance AS i WHERE i.no = v_box.no;
            v_is := v_was;
            v_is.name := coalesce(p_turn.name, v_was.name);
            v_is.version := coalesce(p_turn.version, v_was.version);
            IF v_was.parent IS NULL THEN
                v_is.parent := p_turn.parent;
                v_is.parent_execution := p_turn.parent_execution;    v_is.parent_event := p_turn.parent_event;
            END IF;
            IF p_turn.status IS NOT NULL OR v_begins THEN
                v_is.status := coalesce(p_turn.status, 'Running');
                v_is.completed_at := CASE WHEN p_turn.status IN ('Completed', 'Failed') THEN now END;
            END IF;
            v_is.has_past := p_turn.execution > 1;
            IF v_box.execution = 0 THEN
                v_is.created_at := now;
            END IF;
            IF p_turn.sets_custom_status THEN
                v_is.custom_status := p_turn.custom_status;    v_is.custom_status_version := v_was.custom_status_version + 1;
            END IF;
            IF p_turn.sets_custom_status
               OR (v_is.name, v_is.version, v_is.parent, v_is.status, v_is.completed_at, v_is.has_past, v_is.created_at)
                  IS DISTINCT FROM
                  (v_was.name, v_was.version, v_was.parent, v_was.status, v_was.completed_at, v_was.has_past, v_was.created_at) THEN
                UPDATE abide.instance AS i
                SET name = v_is.name, version = v_is.version, parent = v_is.parent, parent_execution = v_is.parent_execution,
                    parent_event = v_is.parent_event, status = v_is.status, completed_at = v_is.completed_at, has_past = v_is.has_past,
                    created_at = v_is.created_at, custom_status = v_is.custom_status,
                    custom_status_version = v_is.custom_status_version
                WHERE i.no = v_box.no;
            END IF;
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
        routes := v_queued.routes;    work_leases := v_queued.leases;    last_work := v_queued.last;
        v_sessions := v_queued.sessions;    v_session_routes := v_queued.session_routes;
    END IF;
    IF cardinality(v_sessions) > 0 OR v_session IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions || v_session);
        PERFORM abide.use_sessions(ARRAY[v_session], now);
        PERFORM abide.settle_lanes(v_sessions, v_session_routes, now);
    END IF;

    -- Messages to itself. One is mostly all: then what it offers is known by what was there before, and by that one. A fused step has no
    -- mail, and its mailbox says whether some is due.
    v_unsettled := p_turn.work IS NULL OR v_box.lease IS NOT NULL OR v_box.flags > 0 OR cardinality(p_messages) > 0;
    v_looks_again := cardinality(p_messages) > CASE WHEN v_lives AND p_messages[1].class NOT IN (3, 5) THEN 1 ELSE 0 END;
    IF v_looks_again THEN
        PERFORM abide.post(p_messages, ARRAY[v_box.no], CASE WHEN v_lives THEN ARRAY[v_box.no] ELSE '{}' END, now);
        SELECT b.flags INTO v_box.flags FROM abide.mailbox AS b WHERE b.no = v_box.no;
    ELSE
        IF p_turn.work IS NULL OR v_box.lease IS NOT NULL OR v_box.flags > 0 THEN
            SELECT s.ready, s.due_at, s.attempts INTO v_ready, v_due, v_attempts
            FROM abide.standing(v_box.no, CASE WHEN v_lives THEN p_turn.execution ELSE 0 END, '') AS s;
        ELSE
            v_due := v_box.due_at;
        END IF;
        v_may_have_timers := NOT v_lives OR v_ready IS NOT NULL OR v_due IS NOT NULL;
        IF cardinality(p_messages) > 0 THEN
            v_message := p_messages[1];
            INSERT INTO abide.message (mailbox, class, visible_at, execution, event, parent, item, code)
            VALUES (v_box.no, v_message.class, CASE WHEN v_message.visible_at > now THEN v_message.visible_at END, v_message.execution,
                    v_message.event, v_message.parent, v_message.item,
                    CASE WHEN v_message.class IN (1, 2) THEN abide.route_no(v_message.orchestration, v_message.version, '', '') END)
            RETURNING no, visible_at INTO v_sent, v_hidden_until;
            v_attempts := coalesce(v_attempts, CASE WHEN v_hidden_until IS NULL THEN 0 END);
            v_ready := coalesce(v_ready, CASE WHEN v_hidden_until IS NULL THEN v_sent END);    v_due := least(v_due, v_hidden_until);
            v_may_have_timers := v_may_have_timers OR v_message.class = 4;
        END IF;
    END IF;
    -- Timers that nobody waits for.
    IF v_may_have_timers AND (p_turn.ends_timers OR cardinality(p_turn.timers) > 0) THEN
        v_looks_again := cardinality(abide.remove_timers(ARRAY[p_turn], ARRAY[v_box.no], '{}')) > 0 OR v_looks_again;
    END IF;
    IF NOT v_lives THEN
        -- A turn that makes no instance may have used up the start.
        PERFORM abide.await_start(ARRAY[v_box.no], now);
        SELECT b.flags INTO v_box.flags FROM abide.mailbox AS b WHERE b.no = v_box.no;
    END IF;
    IF v_looks_again THEN
        v_unsettled := true;
        SELECT s.ready, s.due_at, s.attempts INTO v_ready, v_due, v_attempts
        FROM abide.standing(v_box.no, CASE WHEN v_lives THEN p_turn.execution ELSE 0 END, '') AS s;
    END IF;

    -- Its position, the end of its lease, and what it offers; if somebody waits for that, it is leased to him instead (abide.settle).
    IF v_lives THEN
        v_box.unbroken := CASE WHEN p_turn.execution - v_box.execution > 1 THEN p_turn.execution ELSE v_box.unbroken END;
        v_box.execution := p_turn.execution;
        v_box.last_event := coalesce(p_turn.last_event, CASE WHEN v_begins THEN 0 END, v_box.last_event);
        v_box.status := coalesce(p_turn.status, CASE WHEN v_begins THEN 'Running' END, v_box.status);
        v_box.pin := coalesce(p_turn.pin, CASE WHEN v_begins THEN '' END, v_box.pin);
        v_box.updated_at := now;    v_box.waiting := p_turn.waiting;
        -- The route of one that ended is not looked at.
        IF v_begins OR p_turn.status = 'Running' OR p_turn.pin IS NOT NULL OR p_turn.name IS NOT NULL OR p_turn.version IS NOT NULL THEN
            v_box.route := 0;
        END IF;
    END IF;
    IF v_box.flags & 1 = 1 THEN
        PERFORM abide.heal(v_box.no, p_turn.execution, v_box.status, p_turn.still_refused, now);
    END IF;
    v_box.lease := NULL;    v_box.leased_until := NULL;    v_box.batch_to := NULL;    v_box.batch_first := NULL;
    v_box.batch_cancel := NULL;
    -- By whom it can be leased: mostly by those as before.
    IF v_box.flags > 0 OR v_ready IS NOT NULL AND (v_attempts >= 3 OR v_box.route = 0 OR v_box.status <> 'Running') THEN
        IF v_box.flags = 0 AND v_ready = v_sent AND v_message.class = 2 AND p_turn.status = 'ContinuedAsNew' THEN
            v_box.route := abide.route_no(coalesce(v_message.orchestration, ''), coalesce(v_message.version, ''), v_box.pin, '') * 2
                         + CASE WHEN v_box.pin <> '' THEN 274877906944 ELSE 0 END;
        ELSE
            SELECT r.route, r.flags, least(v_due, r.retry_at) INTO v_box.route, v_box.flags, v_due
            FROM abide.routed(v_box, v_attempts, now) AS r;
        END IF;
    ELSIF v_ready IS NOT NULL THEN
        v_box.route := v_box.route & ~1::bigint;
    END IF;
    v_is_wanted := v_ready IS NOT NULL AND coalesce(cardinality(p_instance_offer.nonces), 0) > 0
        AND abide.takes_route(v_box.route, p_instance_offer.routes, p_instance_offer.known, p_instance_offer.marks,
                              CASE WHEN p_instance_offer.suspects IS NOT NULL THEN 0 END)
        AND NOT abide.is_passed_by(v_ready, p_instance_offer);
    v_until := abide.later(now, p_instance_offer.lease_ms);
    -- If it has no other mail than the start of its next execution, what abide.hand_out would find out is known.
    v_is_known := v_is_wanted AND v_box.flags = 0 AND v_ready = v_sent AND v_message.class = 2 AND p_turn.status = 'ContinuedAsNew';
    IF v_is_known THEN
        IF octet_length(v_message.item) > 1048576 THEN
            v_until := greatest(v_until, abide.lasting(octet_length(v_message.item)));
        END IF;
        v_box.lease := p_instance_offer.nonces[1];    v_box.leased_until := v_until;    v_box.ready := NULL;    v_box.due_at := v_until;
        v_box.batch_to := 0;    v_box.batch_first := v_sent;
        instance_leases := ARRAY[ROW (v_box.no, v_box.lease, v_box.id, v_box.execution, v_box.last_event, v_box.status, v_is.name, v_is.version,
                                      v_is.parent, v_is.parent_execution, v_is.parent_event, NULL)::abide.instance_lease];
        messages := ARRAY[ROW (v_box.no, v_sent, 1, v_message.item)::abide.leased_message];
    ELSIF NOT v_is_wanted THEN
        wakes := CASE WHEN v_ready IS NOT NULL THEN ARRAY[v_box.route] ELSE '{}' END;
        IF v_unsettled THEN
            v_box.ready := v_ready;    v_box.due_at := v_due;    due_at := v_due;
        END IF;
    END IF;
    UPDATE abide.mailbox AS b
    SET execution = v_box.execution, last_event = v_box.last_event, status = v_box.status, pin = v_box.pin, updated_at = v_box.updated_at,
        unbroken = v_box.unbroken, lease = v_box.lease, leased_until = v_box.leased_until, batch_to = v_box.batch_to,
        batch_first = v_box.batch_first, batch_cancel = v_box.batch_cancel, ready = v_box.ready, due_at = v_box.due_at, route = v_box.route, flags = v_box.flags,
        waiting = v_box.waiting, lease_counts = true
    WHERE b.no = v_box.no;
    IF v_is_wanted AND v_is_known IS NOT TRUE THEN
        v_handed := abide.hand_out(ARRAY[v_box.no], p_instance_offer.nonces, v_until, true);
        instance_leases := v_handed.leases;    messages := v_handed.messages;
    END IF;
END $$;
