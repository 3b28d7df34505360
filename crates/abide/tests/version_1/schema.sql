--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: abide; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA abide;


--
-- Name: instance_lease; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.instance_lease AS (
	mailbox bigint,
	nonce bigint,
	instance text,
	execution bigint,
	last_event bigint,
	status text,
	name text,
	version text,
	parent text,
	parent_execution bigint,
	parent_event bigint
);


--
-- Name: instance_offer; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.instance_offer AS (
	lease_ms bigint,
	nonces bigint[],
	pins text[]
);


--
-- Name: leased_message; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.leased_message AS (
	mailbox bigint,
	number bigint,
	attempts integer,
	item text
);


--
-- Name: new_message; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.new_message AS (
	turn integer,
	recipient text,
	class smallint,
	visible_at bigint,
	execution bigint,
	event bigint,
	parent text,
	item text
);


--
-- Name: new_value; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.new_value AS (
	key text,
	value text,
	updated_at bigint
);


--
-- Name: new_turn; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.new_turn AS (
	turn integer,
	instance text,
	authority text,
	mailbox bigint,
	nonce bigint,
	work bigint,
	expected_mailbox bigint,
	expected_execution bigint,
	expected_event bigint,
	consumes_all boolean,
	consumed bigint[],
	creates boolean,
	execution bigint,
	first_event bigint,
	last_event bigint,
	length bigint,
	events text,
	name text,
	version text,
	parent text,
	parent_execution bigint,
	parent_event bigint,
	pin text,
	status text,
	output text,
	sets_custom_status boolean,
	custom_status text,
	clears_kv boolean,
	changes abide.new_value[],
	folds_kv boolean,
	ends_timers boolean,
	timers bigint[],
	keeps bigint,
	ended_before bigint
);


--
-- Name: new_work; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.new_work AS (
	turn integer,
	instance text,
	execution bigint,
	activity bigint,
	session text,
	tag text,
	rank integer,
	item text
);


--
-- Name: numbered; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.numbered AS (
	turn integer,
	number bigint
);


--
-- Name: outline; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.outline AS (
	mailboxes bigint[],
	required text[],
	optional text[],
	work bigint[],
	node bigint,
	names boolean,
	consumes_some boolean,
	prunes boolean,
	writes_kv boolean,
	timers boolean
);


--
-- Name: revoked_work; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.revoked_work AS (
	turn integer,
	instance text,
	execution bigint,
	activity bigint,
	because text
);


--
-- Name: work_lease; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.work_lease AS (
	work bigint,
	mailbox bigint,
	nonce bigint,
	attempts integer,
	instance text,
	execution bigint,
	activity bigint,
	name text,
	version text,
	item text,
	session text,
	claim bigint,
	former_owner text,
	former_lock bigint,
	former_activity bigint
);


--
-- Name: work_offer; Type: TYPE; Schema: abide; Owner: -
--

CREATE TYPE abide.work_offer AS (
	lease_ms bigint,
	nonces bigint[],
	tags text[],
	near bigint,
	leaves_above bigint
);


--
-- Name: abandon_instances(bigint[], bigint[], bigint[], boolean[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.abandon_instances(p_mailboxes bigint[], p_nonces bigint[], p_delays_ms bigint[], p_ignored boolean[], OUT outcomes text[], OUT wakes boolean, OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_held bigint[];
    v_settled record;
BEGIN
    PERFORM FROM "abide".mailbox AS b WHERE b.no = ANY (p_mailboxes) ORDER BY b.no FOR UPDATE;
    v_now := "abide".now();
    v_held := ARRAY(SELECT b.no FROM unnest(p_mailboxes, p_nonces) AS a (no, nonce)
                    JOIN "abide".mailbox AS b ON b.no = ANY (ARRAY[a.no]) AND b.lease = a.nonce AND b.leased_until > v_now);
    UPDATE "abide".message AS m
    SET attempts = m.attempts + CASE WHEN a.ignored THEN 0 ELSE 1 END,
        visible_at = "abide".later(v_now, a.delay)
    FROM unnest(p_mailboxes, p_delays_ms, p_ignored) AS a (no, delay, ignored)
    JOIN "abide".mailbox AS b ON b.no = ANY (ARRAY[a.no])
    CROSS JOIN LATERAL "abide".batch(b.no, b.batch_to, b.batch_first) AS handed_out (no)
    WHERE b.no = ANY (v_held) AND m.no = ANY (ARRAY[handed_out.no]) AND (a.delay IS NOT NULL OR NOT a.ignored);
    UPDATE "abide".mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL WHERE no = ANY (v_held);
    v_settled := "abide".settle(v_held, NULL, v_now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;
    outcomes := ARRAY(SELECT CASE WHEN a.no = ANY (v_held) THEN 'ok' ELSE 'lost' END
                      FROM unnest(p_mailboxes) WITH ORDINALITY AS a (no, place) ORDER BY a.place);
END $$;


--
-- Name: abandon_work(bigint[], bigint[], bigint[], boolean[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.abandon_work(p_work bigint[], p_nonces bigint[], p_delays_ms bigint[], p_ignored boolean[], OUT outcomes text[], OUT tags text[], OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_held bigint[];
    v_sessions text[];
BEGIN
    PERFORM FROM "abide".work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE;
    v_now := "abide".now();
    v_held := ARRAY(SELECT w.no FROM unnest(p_work, p_nonces) AS a (no, nonce)
                    JOIN "abide".work AS w ON w.no = ANY (ARRAY[a.no]) AND w.lease = a.nonce AND w.leased_until > v_now);
    WITH back AS (
        UPDATE "abide".work AS w
        SET lease = NULL, leased_until = NULL, due_at = "abide".later(v_now, a.delay),
            attempts = greatest(w.attempts - CASE WHEN a.ignored THEN 1 ELSE 0 END, 0)
        FROM unnest(p_work, p_delays_ms, p_ignored) AS a (no, delay, ignored)
        WHERE w.no = ANY (ARRAY[a.no]) AND w.no = ANY (v_held) RETURNING w.session, w.tag, w.due_at
    )
    SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL),
           coalesce(array_agg(DISTINCT tag) FILTER (WHERE due_at IS NULL), '{}'), min(due_at)
    INTO v_sessions, tags, due_at FROM back;
    IF v_sessions IS NOT NULL THEN
        PERFORM "abide".hold_sessions(v_sessions);
        PERFORM "abide".settle_lanes(v_sessions, NULL, v_now);
    END IF;
    outcomes := ARRAY(SELECT CASE WHEN a.no = ANY (v_held) THEN 'ok' ELSE 'lost' END
                      FROM unnest(p_work) WITH ORDINALITY AS a (no, place) ORDER BY a.place);
END $$;


--
-- Name: batch(bigint, bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.batch(p_mailbox bigint, p_to bigint, p_first bigint) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    AS $$
    SELECT m.no FROM "abide".message AS m WHERE m.mailbox = p_mailbox AND m.place <= p_to
    UNION ALL
    SELECT m.no FROM "abide".message AS m WHERE m.mailbox = p_mailbox AND m.place = p_first AND m.place > p_to
$$;


--
-- Name: come_due(bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.come_due(p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT b.no FROM "abide".mailbox AS b WHERE b.due_at <= p_now
                            ORDER BY b.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
BEGIN
    IF cardinality(v_due) = 0 THEN
        RETURN;
    END IF;
    UPDATE "abide".message AS m SET attempts = m.attempts + 1
    FROM "abide".mailbox AS b CROSS JOIN LATERAL "abide".batch(b.no, b.batch_to, b.batch_first) AS handed_out (no)
    WHERE b.no = ANY (v_due) AND b.lease IS NOT NULL AND m.no = ANY (ARRAY[handed_out.no]);
    UPDATE "abide".mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL
    WHERE no = ANY (v_due) AND lease IS NOT NULL;
    UPDATE "abide".message SET visible_at = NULL WHERE mailbox = ANY (v_due) AND visible_at <= p_now;
    PERFORM "abide".settle(v_due, NULL, p_now);
END $$;


--
-- Name: commit_one(abide.new_turn, abide.new_work[], abide.new_message[], bigint, abide.instance_offer, abide.work_offer); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.commit_one(p_turn abide.new_turn, p_work abide.new_work[], p_messages abide.new_message[], p_node bigint, p_instance_offer abide.instance_offer, p_work_offer abide.work_offer, OUT outcome text, OUT instance text, OUT was_running boolean, OUT wakes boolean, OUT due_at bigint, OUT tags text[], OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[], OUT work_leases abide.work_lease[], OUT last_work bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_box "abide".mailbox;
    v_lease bigint;    v_leased_until bigint;    v_of bigint;    v_session text;    -- of the activity that a fused step uses up
    v_lives boolean;    v_begins boolean;
    v_was "abide".instance;    v_is "abide".instance;
    v_queued record;    v_sessions text[] := '{}';    v_session_tags text[] := '{}';
    v_unsettled boolean;    v_ready bigint;    v_due bigint;    -- what it offers, and when that changes
    v_message "abide".new_message;    v_sent bigint;    v_hidden_until bigint;    -- its only message
    v_may_have_timers boolean := true;    v_looks_again boolean;
    v_is_wanted boolean;    v_is_known boolean;    v_until bigint;    v_handed record;    -- whether and how it is leased again
BEGIN
    -- Locks, in their order.
    SELECT b.* INTO v_box FROM "abide".mailbox AS b WHERE b.no = p_turn.mailbox FOR UPDATE;
    IF p_turn.work IS NOT NULL THEN
        SELECT w.lease, w.leased_until, w.mailbox, w.session INTO v_lease, v_leased_until, v_of, v_session
        FROM "abide".work AS w WHERE w.no = p_turn.work FOR UPDATE;
    END IF;
    now := "abide".now();
    outcome := "abide".verdict(p_turn, v_box, v_lease, v_leased_until, v_of, now);
    instance := v_box.id;    was_running := coalesce(v_box.status IN ('Running', 'ContinuedAsNew'), false);
    tags := '{}';    wakes := false;
    IF outcome <> 'ok' THEN
        RETURN;
    END IF;
    v_lives := p_turn.creates OR v_box.execution > 0;    v_begins := p_turn.execution > v_box.execution;

    -- What it used up ("abide".batch).
    IF p_turn.work IS NOT NULL THEN
        DELETE FROM "abide".work AS w WHERE w.no = p_turn.work;
    ELSIF p_turn.consumes_all THEN
        IF v_box.batch_to > 0 THEN
            DELETE FROM "abide".message AS m WHERE m.mailbox = v_box.no AND m.place <= v_box.batch_to;
        END IF;
        IF v_box.batch_first > v_box.batch_to THEN
            DELETE FROM "abide".message AS m WHERE m.mailbox = v_box.no AND m.place = v_box.batch_first;
        END IF;
    ELSIF cardinality(p_turn.consumed) > 0 THEN
        DELETE FROM "abide".message AS m
        WHERE m.no = ANY (p_turn.consumed) AND (m.mailbox = v_box.no) IS TRUE
          AND (m.place <= v_box.batch_to OR m.place = v_box.batch_first) IS TRUE;
    END IF;

    -- What it says about its instance and its execution, its events and its values.
    IF v_lives THEN
        IF v_begins OR p_turn.status IS NOT NULL OR p_turn.sets_custom_status OR p_turn.name IS NOT NULL OR p_turn.version IS NOT NULL
           OR p_turn.parent IS NOT NULL THEN
            -- Written only if it is news: who continues as new says the same again.
            SELECT i.* INTO v_was FROM "abide".instance AS i WHERE i.no = v_box.no;
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
                UPDATE "abide".instance AS i
                SET name = v_is.name, version = v_is.version, parent = v_is.parent, parent_execution = v_is.parent_execution,
                    parent_event = v_is.parent_event, status = v_is.status, completed_at = v_is.completed_at, has_past = v_is.has_past,
                    created_at = v_is.created_at, custom_status = v_is.custom_status,
                    custom_status_version = v_is.custom_status_version
                WHERE i.no = v_box.no;
            END IF;
        END IF;
        IF v_begins THEN
            INSERT INTO "abide".execution (mailbox, no, status, output, pin, started_at, completed_at)
            VALUES (v_box.no, p_turn.execution, coalesce(p_turn.status, 'Running'),
                    CASE WHEN p_turn.status IS NOT NULL THEN p_turn.output END, coalesce(p_turn.pin, ''), now,
                    CASE WHEN p_turn.status <> 'Running' THEN now END);
        ELSIF p_turn.status IS NOT NULL OR p_turn.pin IS NOT NULL THEN
            UPDATE "abide".execution AS e
            SET pin = coalesce(p_turn.pin, e.pin), status = coalesce(p_turn.status, e.status),
                output = CASE WHEN p_turn.status IS NULL THEN e.output ELSE p_turn.output END,
                completed_at = CASE WHEN p_turn.status IS NULL THEN e.completed_at WHEN p_turn.status <> 'Running' THEN now END
            WHERE e.mailbox = v_box.no AND e.no = p_turn.execution;
        END IF;
        IF p_turn.events IS NOT NULL THEN
            INSERT INTO "abide".turn (mailbox, execution, first_event, last_event, length, events)
            VALUES (v_box.no, p_turn.execution, p_turn.first_event, p_turn.last_event, p_turn.length, p_turn.events);
        END IF;
        IF p_turn.clears_kv OR cardinality(p_turn.changes) > 0
           OR p_turn.folds_kv AND EXISTS (SELECT FROM "abide".kv_delta AS d WHERE d.mailbox = v_box.no) THEN
            PERFORM "abide".write_kv(ARRAY[p_turn], ARRAY[v_box.no]);
        END IF;
    END IF;

    -- Work, then sessions, which come last in the order: that of a fused step was active; what was queued changes lanes.
    IF cardinality(p_work) > 0 THEN
        v_queued := "abide".write_work(p_work, ARRAY[v_box.no], p_node, p_work_offer, now);
        tags := v_queued.tags;    work_leases := v_queued.leases;    last_work := v_queued.last;
        v_sessions := v_queued.sessions;    v_session_tags := v_queued.session_tags;
    END IF;
    IF cardinality(v_sessions) > 0 OR v_session IS NOT NULL THEN
        PERFORM "abide".hold_sessions(v_sessions || v_session);
        PERFORM "abide".use_sessions(ARRAY[v_session], now);
        PERFORM "abide".settle_lanes(v_sessions, v_session_tags, now);
    END IF;

    -- Messages to itself. One is mostly all: then what it offers is known by what was there before, and by that one. A fused step has no
    -- mail, and its mailbox says whether some is due.
    v_unsettled := p_turn.work IS NULL OR v_box.lease IS NOT NULL OR cardinality(p_messages) > 0;
    v_looks_again := cardinality(p_messages) > CASE WHEN v_lives AND p_messages[1].class <> 3 THEN 1 ELSE 0 END;
    IF v_looks_again THEN
        PERFORM "abide".post(p_messages, ARRAY[v_box.no], CASE WHEN v_lives THEN ARRAY[v_box.no] ELSE '{}' END, now);
    ELSE
        IF p_turn.work IS NULL OR v_box.lease IS NOT NULL THEN
            SELECT s.ready, s.due_at INTO v_ready, v_due FROM "abide".standing(v_box.no, v_lives) AS s;
        ELSE
            v_due := v_box.due_at;
        END IF;
        v_may_have_timers := NOT v_lives OR v_ready IS NOT NULL OR v_due IS NOT NULL;
        IF cardinality(p_messages) > 0 THEN
            v_message := p_messages[1];
            INSERT INTO "abide".message (mailbox, class, visible_at, execution, event, parent, item)
            VALUES (v_box.no, v_message.class, CASE WHEN v_message.visible_at > now THEN v_message.visible_at END, v_message.execution,
                    v_message.event, v_message.parent, v_message.item)
            RETURNING no, visible_at INTO v_sent, v_hidden_until;
            v_ready := coalesce(v_ready, CASE WHEN v_hidden_until IS NULL THEN v_sent END);    v_due := least(v_due, v_hidden_until);
            v_may_have_timers := v_may_have_timers OR v_message.class = 4;
        END IF;
    END IF;
    -- Timers that nobody waits for.
    IF v_may_have_timers AND (p_turn.ends_timers OR cardinality(p_turn.timers) > 0) THEN
        v_looks_again := cardinality("abide".remove_timers(ARRAY[p_turn], ARRAY[v_box.no], '{}')) > 0 OR v_looks_again;
    END IF;
    IF v_looks_again THEN
        v_unsettled := true;
        SELECT s.ready, s.due_at INTO v_ready, v_due FROM "abide".standing(v_box.no, v_lives) AS s;
    END IF;

    -- Its position, the end of its lease, and what it offers; if somebody waits for that, it is leased to him instead ("abide".settle).
    IF v_lives THEN
        v_box.unbroken := CASE WHEN p_turn.execution - v_box.execution > 1 THEN p_turn.execution ELSE v_box.unbroken END;
        v_box.execution := p_turn.execution;
        v_box.last_event := coalesce(p_turn.last_event, CASE WHEN v_begins THEN 0 END, v_box.last_event);
        v_box.status := coalesce(p_turn.status, CASE WHEN v_begins THEN 'Running' END, v_box.status);
        v_box.pin := coalesce(p_turn.pin, CASE WHEN v_begins THEN '' END, v_box.pin);
        v_box.updated_at := now;
    END IF;
    v_box.lease := NULL;    v_box.leased_until := NULL;    v_box.batch_to := NULL;    v_box.batch_first := NULL;
    v_is_wanted := v_ready IS NOT NULL AND coalesce(cardinality(p_instance_offer.nonces), 0) > 0
        AND (p_instance_offer.pins IS NULL OR v_box.pin = '' OR v_box.pin = ANY (p_instance_offer.pins))
        AND NOT "abide".is_passed_by(v_ready, p_instance_offer.pins);
    v_until := "abide".later(now, p_instance_offer.lease_ms);
    -- If it has no other mail than the start of its next execution, what "abide".hand_out would find out is known.
    v_is_known := v_is_wanted AND v_ready = v_sent AND v_message.class = 2 AND p_turn.status = 'ContinuedAsNew';
    IF v_is_known THEN
        v_box.lease := p_instance_offer.nonces[1];    v_box.leased_until := v_until;    v_box.ready := NULL;    v_box.due_at := v_until;
        v_box.batch_to := 0;    v_box.batch_first := v_sent;
        instance_leases := ARRAY[ROW (v_box.no, v_box.lease, v_box.id, v_box.execution, v_box.last_event, v_box.status, v_is.name, v_is.version,
                                      v_is.parent, v_is.parent_execution, v_is.parent_event)::"abide".instance_lease];
        messages := ARRAY[ROW (v_box.no, v_sent, 1, v_message.item)::"abide".leased_message];
    ELSIF NOT v_is_wanted THEN
        wakes := v_ready IS NOT NULL;
        IF v_unsettled THEN
            v_box.ready := v_ready;    v_box.due_at := v_due;    due_at := v_due;
        END IF;
    END IF;
    UPDATE "abide".mailbox AS b
    SET execution = v_box.execution, last_event = v_box.last_event, status = v_box.status, pin = v_box.pin, updated_at = v_box.updated_at,
        unbroken = v_box.unbroken, lease = v_box.lease, leased_until = v_box.leased_until, batch_to = v_box.batch_to,
        batch_first = v_box.batch_first, ready = v_box.ready, due_at = v_box.due_at
    WHERE b.no = v_box.no;
    IF v_is_wanted AND v_is_known IS NOT TRUE THEN
        v_handed := "abide".hand_out(ARRAY[v_box.no], p_instance_offer.nonces, v_until);
        instance_leases := v_handed.leases;    messages := v_handed.messages;
    END IF;
END $$;


--
-- Name: commit_turns(abide.new_turn[], abide.new_work[], abide.revoked_work[], abide.new_message[], abide.outline, abide.instance_offer, abide.work_offer); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.commit_turns(p_turns abide.new_turn[], p_work abide.new_work[], p_revoked abide.revoked_work[], p_messages abide.new_message[], p_outline abide.outline, p_instance_offer abide.instance_offer, p_work_offer abide.work_offer, OUT outcomes text[], OUT instances text[], OUT was_running boolean[], OUT pruned_executions bigint[], OUT pruned_events bigint[], OUT wakes boolean, OUT due_at bigint, OUT tags text[], OUT stolen text[], OUT because text[], OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[], OUT work_leases abide.work_lease[], OUT last_work bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_made bigint[] := '{}';
    v_mailboxes bigint[] := p_outline.mailboxes;    -- per turn; null from the moment it is refused
    v_living bigint[];       -- the same, but for turns that make no instance of what is none
    v_verdict record;
    -- What is to be done, but for that of turns that are refused.
    v_telling "abide".new_turn[] := p_turns;
    v_work "abide".new_work[] := p_work;    v_messages "abide".new_message[] := p_messages;    v_finished bigint[] := p_outline.work;
    v_locked bigint[];
    v_mailed bigint[];    v_unsettled bigint[];            -- mailboxes with new mail; those whose readiness may have changed
    v_doomed "abide".numbered[] := '{}';    v_why text[];    -- work to be taken back
    v_pruned "abide".numbered[];                             -- executions to be pruned
    v_taken record;    v_queued record;    v_settled record;
    v_executions bigint[];
    v_sessions text[] := '{}';    v_session_tags text[] := '{}';
    v_turn integer;
BEGIN
    IF cardinality(p_outline.required) > 0 THEN
        v_made := "abide".register(p_outline.required);
    END IF;

    -- Locks, in their order: mailboxes, then every work row that may be deleted.
    IF cardinality(p_outline.required) > 0 OR cardinality(p_outline.optional) > 0 THEN
        v_locked := "abide".lock_mailboxes(v_mailboxes, p_outline.required, p_outline.optional);
    ELSE
        PERFORM FROM "abide".mailbox AS b WHERE b.no = ANY (v_mailboxes) ORDER BY b.no FOR UPDATE;
        v_locked := v_mailboxes;
    END IF;
    IF p_outline.names THEN
        SELECT array_agg(CASE t.authority WHEN 'none' THEN (SELECT i.no FROM "abide".instance AS i WHERE i.id = t.instance)
                                          ELSE t.mailbox END ORDER BY t.turn)
        INTO v_mailboxes FROM unnest(p_turns) AS t;
    END IF;
    IF cardinality(p_revoked) > 0 OR p_outline.prunes THEN
        v_pruned := ARRAY(
            SELECT ROW (t.turn, e)::"abide".numbered FROM unnest(p_turns) AS t
            JOIN "abide".mailbox AS b ON b.no = ANY (ARRAY[v_mailboxes[t.turn]])
            CROSS JOIN LATERAL unnest("abide".prunable(
                b.no, t.execution, CASE WHEN t.execution - b.execution > 1 THEN t.execution ELSE b.unbroken END,
                t.keeps, t.ended_before, 256)) AS e
            WHERE t.keeps IS NOT NULL ORDER BY t.turn);
        SELECT coalesce(array_agg(ROW (d.turn, d.no)::"abide".numbered ORDER BY d.no), '{}'), array_agg(d.because ORDER BY d.no)
        INTO v_doomed, v_why
        FROM (
            SELECT r.turn, w.no, r.because
            FROM unnest(p_revoked) AS r
            JOIN "abide".instance AS i ON i.id = ANY (ARRAY[r.instance])
            JOIN "abide".work AS w ON w.mailbox = ANY (ARRAY[i.no]) AND w.execution = r.execution AND w.activity = r.activity
            UNION ALL
            SELECT d.turn, w.no, 'deleted'
            FROM unnest(v_pruned) AS d
            JOIN "abide".work AS w ON w.mailbox = ANY (ARRAY[v_mailboxes[d.turn]]) AND w.execution = d.number
        ) AS d
        -- What a fused step finished is not taken back.
        WHERE NOT EXISTS (SELECT FROM unnest(p_turns) AS t WHERE t.turn = d.turn AND t.work = d.no);
    END IF;
    IF cardinality(v_doomed) > 0 THEN
        PERFORM FROM "abide".work AS w
        WHERE w.no = ANY (ARRAY(SELECT d.number FROM unnest(v_doomed) AS d) || p_outline.work) ORDER BY w.no FOR UPDATE;
    ELSIF cardinality(p_outline.work) > 0 THEN
        PERFORM FROM "abide".work AS w WHERE w.no = ANY (p_outline.work) ORDER BY w.no FOR UPDATE;
    END IF;

    now := "abide".now();
    v_verdict := "abide".judge(p_turns, v_mailboxes, now);
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
        DELETE FROM "abide".message AS m
        USING "abide".mailbox AS b, LATERAL "abide".batch(b.no, b.batch_to, b.batch_first) AS handed_out (no)
        WHERE b.no = ANY (v_verdict.emptied) AND m.no = ANY (ARRAY[handed_out.no]);
    END IF;
    IF p_outline.consumes_some THEN
        -- Those that are of the lease. "Is true" keeps their mailbox from being looked up: it may have much mail.
        DELETE FROM "abide".message AS m USING unnest(p_turns) AS t, "abide".mailbox AS b
        WHERE t.authority = 'lease' AND b.no = ANY (ARRAY[v_mailboxes[t.turn]]) AND m.no = ANY (t.consumed)
          AND (m.mailbox = b.no) IS TRUE AND (m.place <= b.batch_to OR m.place = b.batch_first) IS TRUE;
    END IF;
    IF cardinality(v_telling) > 0 THEN
        PERFORM "abide".write_executions(v_telling, v_living, v_verdict.begins, v_verdict.alters, now);
    END IF;
    INSERT INTO "abide".turn (mailbox, execution, first_event, last_event, length, events)
    SELECT v_living[t.turn], t.execution, t.first_event, t.last_event, t.length, t.events
    FROM unnest(p_turns) AS t WHERE v_living[t.turn] IS NOT NULL AND t.events IS NOT NULL;
    IF p_outline.writes_kv THEN
        PERFORM "abide".write_kv(p_turns, v_living);
    END IF;
    UPDATE "abide".mailbox AS b
    SET execution = CASE WHEN n.lives THEN n.execution ELSE b.execution END,
        last_event = CASE WHEN n.lives THEN coalesce(n.last_event, CASE WHEN n.execution > b.execution THEN 0 END, b.last_event)
                          ELSE b.last_event END,
        status = CASE WHEN n.lives THEN coalesce(n.status, CASE WHEN n.execution > b.execution THEN 'Running' END, b.status)
                      ELSE b.status END,
        pin = CASE WHEN n.lives THEN coalesce(n.pin, CASE WHEN n.execution > b.execution THEN '' END, b.pin) ELSE b.pin END,
        updated_at = CASE WHEN n.lives THEN now ELSE b.updated_at END,
        unbroken = CASE WHEN n.lives AND n.execution - b.execution > 1 THEN n.execution ELSE b.unbroken END,
        -- Giving an instance a past ends nobody's lease.
        lease = CASE WHEN n.authority = 'none' THEN b.lease END,
        leased_until = CASE WHEN n.authority = 'none' THEN b.leased_until END,
        batch_to = CASE WHEN n.authority = 'none' THEN b.batch_to END,
        batch_first = CASE WHEN n.authority = 'none' THEN b.batch_first END
    FROM (SELECT t.turn, t.execution, t.last_event, t.status, t.pin, t.authority, v_living[t.turn] IS NOT NULL AS lives
          FROM unnest(p_turns) AS t) AS n
    WHERE b.no = ANY (ARRAY[v_mailboxes[n.turn]]);

    -- Work: those rows that go, which nobody should be given any more, then new ones.
    tags := '{}';    stolen := '{}';    because := '{}';
    IF cardinality(v_doomed) > 0 THEN
        v_taken := "abide".take_back(
            ARRAY(SELECT CASE WHEN v_mailboxes[d.turn] IS NOT NULL THEN d.number END FROM unnest(v_doomed) AS d), v_why, now);
        stolen := v_taken.stolen;    because := v_taken.because;    v_sessions := v_taken.sessions;
    END IF;
    IF cardinality(p_outline.work) > 0 THEN
        DELETE FROM "abide".work AS w WHERE w.no = ANY (v_finished);
    END IF;
    IF cardinality(v_work) > 0 THEN
        v_queued := "abide".write_work(v_work, v_mailboxes, p_outline.node, p_work_offer, now);
        tags := v_queued.tags;    work_leases := v_queued.leases;    last_work := v_queued.last;
        -- The lanes to settle; those of what was taken back are there.
        v_sessions := v_queued.sessions || v_sessions;    v_session_tags := v_queued.session_tags;
    END IF;
    -- Sessions come last in the order: that of a fused step was active; what was queued or taken back changes lanes.
    IF cardinality(v_sessions) > 0 OR v_verdict.sessions IS NOT NULL THEN
        PERFORM "abide".hold_sessions(v_sessions || v_verdict.sessions);
        PERFORM "abide".use_sessions(v_verdict.sessions, now);
        PERFORM "abide".settle_lanes(v_sessions, v_session_tags, now);
    END IF;

    -- Messages, in order; then timers that nobody waits for.
    IF cardinality(v_messages) > 0 THEN
        v_mailed := "abide".post(v_messages, v_locked, v_living, now);
        IF (v_mailed <@ v_unsettled) IS NOT TRUE THEN
            v_unsettled := ARRAY(SELECT unnest(v_unsettled) UNION SELECT unnest(v_mailed));
        END IF;
    END IF;
    IF p_outline.timers THEN
        v_unsettled := "abide".remove_timers(p_turns, v_mailboxes, v_unsettled);
    END IF;

    IF p_outline.prunes THEN
        FOR v_turn, v_executions IN
            SELECT p.turn, array_agg(p.number) FROM unnest(v_pruned) AS p WHERE v_mailboxes[p.turn] IS NOT NULL GROUP BY p.turn
        LOOP
            pruned_executions[v_turn] := cardinality(v_executions);
            pruned_events[v_turn] := "abide".drop_executions(v_mailboxes[v_turn], v_executions);
        END LOOP;
    END IF;
    IF cardinality(v_made) > 0 AND EXISTS (SELECT FROM unnest(outcomes) AS o WHERE o <> 'ok') THEN
        PERFORM "abide".unregister(v_made);
    END IF;
    wakes := false;
    IF cardinality(v_unsettled) > 0 THEN
        v_settled := "abide".settle(v_unsettled, p_instance_offer, now);
        wakes := v_settled.wakes;    due_at := v_settled.due_at;
        instance_leases := v_settled.leases;    messages := v_settled.messages;
    END IF;
END $$;


--
-- Name: delete_instances(text[], text, boolean, text[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.delete_instances(p_ids text[], p_scope text, p_force boolean, p_ends text[], p_before bigint, OUT outcome text, OUT culprit text, OUT child text, OUT instances bigint, OUT executions bigint, OUT events bigint, OUT items bigint, OUT stolen text[], OUT because text[], OUT gone text[], OUT wakes boolean, OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_names text[];
    v_doomed bigint[];
    v_locked bigint[];
    v_root "abide".instance;
    v_asking bigint;    -- when the execution that asked for a child ended
BEGIN
    v_names := CASE WHEN p_scope = 'set' THEN p_ids ELSE ARRAY(SELECT t.id FROM "abide".tree(p_ids) AS t) END;
    v_locked := "abide".lock_mailboxes(ARRAY(SELECT u.mailbox FROM "abide".unborn(v_names) AS u), '{}', v_names);
    v_now := "abide".now();
    v_names := CASE WHEN p_scope = 'set' THEN p_ids ELSE ARRAY(SELECT t.id FROM "abide".tree(p_ids) AS t) END;
    v_doomed := ARRAY(SELECT i.no FROM "abide".instance AS i
                      WHERE i.id = ANY (v_names) AND (length(i.status) > 0 OR (p_scope = 'set' AND p_force)));
    IF EXISTS (SELECT unnest(v_doomed) UNION ALL SELECT u.mailbox FROM "abide".unborn(v_names) AS u EXCEPT SELECT unnest(v_locked)) THEN
        RAISE EXCEPTION 'a tree grew while it was to be deleted' USING ERRCODE = 'serialization_failure';
    END IF;

    IF p_scope <> 'set' THEN
        SELECT * INTO v_root FROM "abide".instance AS i WHERE i.id = p_ids[1] AND length(i.status) > 0;
        IF v_root IS NULL OR v_root.no IS NULL THEN
            outcome := 'unknown';
            RETURN;
        END IF;
    END IF;
    IF p_scope = 'tree' AND v_root.parent IS NOT NULL THEN
        outcome := 'child';
        RETURN;
    ELSIF p_scope = 'roots' AND (v_root.parent IS NOT NULL OR (p_before IS NOT NULL AND (v_root.completed_at < p_before) IS NOT TRUE))
    THEN
        outcome := 'spared';
        RETURN;
    ELSIF p_scope = 'orphans' THEN
        SELECT coalesce(e.completed_at, -1) INTO v_asking
        FROM "abide".instance AS p JOIN "abide".execution AS e ON e.mailbox = ANY (ARRAY[p.no]) AND e.no = coalesce(v_root.parent_execution, 1)
        WHERE p.id = v_root.parent;
        v_asking := coalesce(v_asking, v_root.completed_at, -1);
        IF v_root.parent IS NULL OR v_root.status <> ALL (p_ends) OR v_asking < 0 OR (p_before IS NOT NULL AND v_asking >= p_before) THEN
            outcome := 'spared';
            RETURN;
        END IF;
    END IF;

    IF NOT p_force THEN
        SELECT i.id INTO culprit FROM unnest(v_names) WITH ORDINALITY AS n (id, place)
        JOIN "abide".instance AS i ON i.id = ANY (ARRAY[n.id])
        WHERE length(i.status) > 0 AND NOT "abide".is_finished(i.no, i.status) ORDER BY n.place LIMIT 1;
        IF culprit IS NOT NULL THEN
            outcome := CASE WHEN p_scope IN ('roots', 'orphans') THEN 'spared' ELSE 'running' END;
            RETURN;
        END IF;
    END IF;
    SELECT n.id, c.id INTO culprit, child
    FROM unnest(v_names) WITH ORDINALITY AS n (id, place)
    JOIN "abide".instance AS i ON i.id = ANY (ARRAY[n.id]) AND length(i.status) > 0
    JOIN "abide".instance AS c ON c.parent = ANY (ARRAY[n.id]) AND length(c.status) > 0
    WHERE c.id NOT IN (SELECT unnest(v_names)) ORDER BY n.place, c.created_at, c.no LIMIT 1;
    IF culprit IS NOT NULL THEN
        outcome := 'left behind';
        RETURN;
    END IF;

    outcome := 'ok';
    gone := ARRAY(SELECT i.id FROM "abide".instance AS i WHERE i.no = ANY (v_doomed));
    SELECT e.instances, e.executions, e.events, e.items, e.stolen, e.because, e.wakes, e.due_at
    INTO instances, executions, events, items, stolen, because, wakes, due_at
    FROM "abide".erase(v_doomed, CASE WHEN p_scope = 'set' AND p_force THEN v_names ELSE gone END, v_now) AS e;
END $$;


--
-- Name: drop_executions(bigint, bigint[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.drop_executions(p_mailbox bigint, p_executions bigint[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_events bigint;
BEGIN
    WITH gone AS (DELETE FROM "abide".turn AS t WHERE t.mailbox = p_mailbox AND t.execution = ANY (p_executions) RETURNING t.length)
    SELECT coalesce(sum(length), 0) INTO v_events FROM gone;
    DELETE FROM "abide".execution AS e WHERE e.mailbox = p_mailbox AND e.no = ANY (p_executions);
    UPDATE "abide".mailbox
    SET unbroken = greatest(unbroken, (SELECT max(e) FROM unnest(p_executions) AS e) + 1) WHERE no = p_mailbox;
    RETURN v_events;
END $$;


--
-- Name: enqueue_messages(abide.new_message[], bigint[], bytea[], boolean[], abide.instance_offer); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.enqueue_messages(p_messages abide.new_message[], p_delays_ms bigint[], p_keys bytea[], p_only_once boolean[], p_offer abide.instance_offer, OUT outcomes text[], OUT wakes boolean, OUT due_at bigint, OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_hour_ago bigint;
    v_new bytea[];
    v_required text[];
    v_made bigint[];
    v_locked bigint[];
    v_settled record;
BEGIN
    now := "abide".now();
    v_hour_ago := now - 3600000;
    WITH seen AS (
        INSERT INTO "abide".request AS r (key, seen_at)
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
    DELETE FROM "abide".request WHERE key = ANY (ARRAY(
        SELECT r.key FROM "abide".request AS r WHERE r.seen_at <= v_hour_ago
        ORDER BY r.seen_at LIMIT 16 + 2 * cardinality(p_keys) FOR UPDATE SKIP LOCKED));

    v_required := ARRAY(SELECT m.recipient FROM unnest(p_messages) AS m WHERE m.class <> 3 AND outcomes[m.turn] = 'ok');
    v_made := "abide".register(v_required);
    v_locked := "abide".lock_mailboxes(
        '{}', v_required, ARRAY(SELECT m.recipient FROM unnest(p_messages) AS m WHERE m.class = 3 AND outcomes[m.turn] = 'ok'));
    now := "abide".now();

    SELECT array_agg(CASE WHEN outcomes[m.turn] = 'ok' AND p_only_once[m.turn]
                               AND (b.execution > 0 OR EXISTS (
                                    SELECT FROM "abide".message AS s WHERE s.mailbox = ANY (ARRAY[b.no]) AND s.class IN (1, 2)))
                          THEN 'exists' ELSE outcomes[m.turn] END ORDER BY m.turn)
    INTO outcomes
    FROM unnest(p_messages) AS m
    LEFT JOIN "abide".instance AS i ON i.id = ANY (ARRAY[m.recipient]) LEFT JOIN "abide".mailbox AS b ON b.no = ANY (ARRAY[i.no]);
    -- A key is only remembered by a message that was sent.
    DELETE FROM "abide".request WHERE key = ANY (ARRAY(
        SELECT k.key FROM unnest(p_keys, outcomes) AS k (key, outcome) WHERE k.outcome = 'exists'));

    PERFORM "abide".post(
        ARRAY(SELECT ROW (m.turn, m.recipient, m.class, greatest(m.visible_at, "abide".later(now, p_delays_ms[m.turn])),
                          m.execution, m.event, m.parent, m.item)::"abide".new_message
              FROM unnest(p_messages) AS m WHERE outcomes[m.turn] = 'ok' ORDER BY m.turn),
        v_locked, '{}', now);
    v_settled := "abide".settle(v_locked, p_offer, now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;    instance_leases := v_settled.leases;    messages := v_settled.messages;
END $$;


--
-- Name: enqueue_work(abide.new_work[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.enqueue_work(p_work abide.new_work[], OUT tags text[]) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_names text[] := ARRAY(SELECT w.instance FROM unnest(p_work) AS w);
    v_sessions text[];
    v_session_tags text[];
BEGIN
    PERFORM "abide".register(v_names);
    PERFORM "abide".lock_mailboxes('{}', v_names, '{}');
    SELECT q.tags, q.sessions, q.session_tags INTO tags, v_sessions, v_session_tags FROM "abide".write_work(p_work, '{}', NULL, NULL, "abide".now()) AS q;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM "abide".hold_sessions(v_sessions);
        PERFORM "abide".settle_lanes(v_sessions, v_session_tags, "abide".now());
    END IF;
END $$;


--
-- Name: erase(bigint[], text[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.erase(p_mailboxes bigint[], p_ids text[], p_now bigint, OUT instances bigint, OUT executions bigint, OUT events bigint, OUT items bigint, OUT stolen text[], OUT because text[], OUT wakes boolean, OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_work bigint[] := ARRAY(SELECT w.no FROM "abide".work AS w WHERE w.mailbox = ANY (p_mailboxes) ORDER BY w.no + 0 FOR UPDATE);
    v_sessions text[];
    v_unborn bigint[];
    v_cradles bigint[];    -- the mailboxes of the unborn
    v_void bigint[];       -- those among them whose lease was to bring one to life
    v_count bigint;
    v_settled record;
BEGIN
    SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_sessions
    FROM "abide".take_back(v_work, array_fill('deleted'::text, ARRAY[cardinality(v_work)]), p_now) AS g;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM "abide".hold_sessions(v_sessions);
        PERFORM "abide".settle_lanes(v_sessions, NULL, p_now);
    END IF;
    instances := (SELECT count(DISTINCT e.mailbox) FROM "abide".execution AS e WHERE e.mailbox = ANY (p_mailboxes));
    WITH gone AS (DELETE FROM "abide".turn AS t WHERE t.mailbox = ANY (p_mailboxes) RETURNING t.length)
    SELECT coalesce(sum(length), 0) INTO events FROM gone;
    WITH gone AS (DELETE FROM "abide".execution AS e WHERE e.mailbox = ANY (p_mailboxes) RETURNING 1)
    SELECT count(*) INTO executions FROM gone;
    DELETE FROM "abide".kv_delta WHERE mailbox = ANY (p_mailboxes);
    DELETE FROM "abide".kv_store WHERE mailbox = ANY (p_mailboxes);
    WITH visible AS (DELETE FROM "abide".message AS m WHERE m.mailbox = ANY (p_mailboxes) AND m.place IS NOT NULL RETURNING 1),
         hidden AS (DELETE FROM "abide".message AS m WHERE m.mailbox = ANY (p_mailboxes) AND m.visible_at IS NOT NULL RETURNING 1)
    SELECT cardinality(v_work) + (SELECT count(*) FROM visible) + (SELECT count(*) FROM hidden) INTO items;
    DELETE FROM "abide".mailbox WHERE no = ANY (p_mailboxes);
    DELETE FROM "abide".instance WHERE no = ANY (p_mailboxes);
    DELETE FROM "abide".dead_letter WHERE instance = ANY (p_ids);

    SELECT coalesce(array_agg(u.no), '{}'), coalesce(array_agg(DISTINCT u.mailbox), '{}') INTO v_unborn, v_cradles
    FROM "abide".unborn(p_ids) AS u;
    IF cardinality(v_unborn) = 0 THEN
        RETURN;
    END IF;
    -- A turn that was to bring a child to life is not to be committed.
    v_void := ARRAY(SELECT b.no FROM "abide".mailbox AS b
                    WHERE b.no = ANY (v_cradles) AND b.execution = 0 AND b.leased_until > p_now
                      AND (SELECT true FROM "abide".message AS m WHERE m.no = ANY (v_unborn) AND m.mailbox = b.no
                                  AND (m.place <= b.batch_to OR m.place = b.batch_first) ORDER BY m.no LIMIT 1));
    DELETE FROM "abide".message WHERE no = ANY (v_unborn);
    items := items + cardinality(v_unborn);
    -- What was kept for the queues of a child was kept because it would start.
    WITH cradle AS MATERIALIZED (
        SELECT b.no FROM "abide".mailbox AS b WHERE b.no = ANY (v_cradles) AND b.execution = 0
            AND (SELECT true FROM "abide".message AS s WHERE s.mailbox = b.no AND s.class IN (1, 2) ORDER BY s.place LIMIT 1) IS NULL
    ), visible AS (
        DELETE FROM "abide".message AS m USING cradle AS c
        WHERE m.mailbox = ANY (ARRAY[c.no]) AND m.place IS NOT NULL AND m.class = 3 RETURNING 1
    ), hidden AS (
        DELETE FROM "abide".message AS m USING cradle AS c
        WHERE m.mailbox = ANY (ARRAY[c.no]) AND m.visible_at IS NOT NULL AND m.class = 3 RETURNING 1
    )
    SELECT (SELECT count(*) FROM visible) + (SELECT count(*) FROM hidden) INTO v_count;
    items := items + v_count;
    UPDATE "abide".mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL WHERE no = ANY (v_void);
    v_settled := "abide".settle(v_cradles, NULL, p_now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;
END $$;


--
-- Name: finish_work(bigint[], bigint[], bigint[], text[], text[], abide.instance_offer); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.finish_work(p_work bigint[], p_mailboxes bigint[], p_nonces bigint[], p_instances text[], p_items text[], p_offer abide.instance_offer, OUT outcomes text[], OUT wakes boolean, OUT due_at bigint, OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_locked bigint[] := "abide".lock_mailboxes(
        ARRAY(SELECT f.mailbox FROM unnest(p_mailboxes, p_items) AS f (mailbox, item) WHERE f.item IS NOT NULL), '{}', '{}');
    v_sessions text[];
    v_settled record;
BEGIN
    PERFORM FROM "abide".work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE;
    now := "abide".now();
    SELECT array_agg(CASE WHEN (w.lease = f.nonce AND w.leased_until > now AND w.mailbox = f.mailbox) IS NOT TRUE THEN 'lost'
                          WHEN f.item IS NOT NULL AND f.instance IS DISTINCT FROM i.id THEN 'invalid'
                          ELSE 'ok' END ORDER BY f.place)
    INTO outcomes
    FROM unnest(p_work, p_mailboxes, p_nonces, p_instances, p_items) WITH ORDINALITY
         AS f (work, mailbox, nonce, instance, item, place)
    LEFT JOIN "abide".work AS w ON w.no = ANY (ARRAY[f.work])
    LEFT JOIN "abide".instance AS i ON i.no = ANY (ARRAY[w.mailbox]);

    INSERT INTO "abide".message (mailbox, class, item)
    SELECT f.mailbox, 0, f.item
    FROM unnest(p_mailboxes, p_items, outcomes) WITH ORDINALITY AS f (mailbox, item, outcome, place)
    WHERE f.outcome = 'ok' AND f.item IS NOT NULL ORDER BY f.place;
    WITH gone AS (
        DELETE FROM "abide".work AS w
        WHERE w.no = ANY (ARRAY(SELECT f.work FROM unnest(p_work, outcomes) AS f (work, outcome) WHERE f.outcome = 'ok'))
        RETURNING w.session
    )
    SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL) INTO v_sessions FROM gone;
    IF v_sessions IS NOT NULL THEN
        PERFORM "abide".hold_sessions(v_sessions);
        PERFORM "abide".use_sessions(v_sessions, now);
    END IF;
    v_settled := "abide".settle(v_locked, p_offer, now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;    instance_leases := v_settled.leases;    messages := v_settled.messages;
END $$;


--
-- Name: forget_sessions(); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.forget_sessions() RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_now bigint := "abide".now();
    v_idle text[] := ARRAY(SELECT s.name FROM "abide".session AS s
                           WHERE (s.locked_until > v_now) IS NOT TRUE
                             AND NOT EXISTS (SELECT FROM "abide".work AS w WHERE w.session = ANY (ARRAY[s.name]))
                           ORDER BY s.name FOR UPDATE SKIP LOCKED);
    v_count bigint;
BEGIN
    -- Under the lock once more: work may have come while we looked.
    v_idle := ARRAY(SELECT s.name FROM "abide".session AS s
                    WHERE s.name = ANY (v_idle) AND (s.locked_until > v_now) IS NOT TRUE
                      AND NOT EXISTS (SELECT FROM "abide".work AS w WHERE w.session = ANY (ARRAY[s.name])));
    DELETE FROM "abide".lane WHERE session = ANY (v_idle);
    WITH gone AS (DELETE FROM "abide".session WHERE name = ANY (v_idle) RETURNING last_active_at)
    SELECT count(last_active_at) INTO v_count FROM gone;
    RETURN v_count;
END $$;


--
-- Name: grant_work(bigint[], bigint[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.grant_work(p_work bigint[], p_nonces bigint[], p_until bigint, OUT leases abide.work_lease[]) RETURNS abide.work_lease[]
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_work bigint[] := p_work;
    v_no bigint;    v_bytes bigint := 0;
    v_one record;    v_of record;    v_session "abide".session;
BEGIN
    IF cardinality(p_work) > 1 THEN
        v_work := ARRAY(SELECT unnest(p_work) AS no ORDER BY no);
    END IF;
    -- A few cost less one by one than together.
    IF cardinality(p_work) <= 4 THEN
        FOREACH v_no IN ARRAY v_work LOOP
            EXIT WHEN v_bytes >= 16777216;
            UPDATE "abide".work AS w
            SET lease = p_nonces[coalesce(cardinality(leases), 0) + 1], leased_until = p_until, due_at = p_until, attempts = w.attempts + 1
            WHERE w.no = v_no
            RETURNING w.no, w.mailbox, w.lease, w.attempts, w.execution, w.activity, w.session, w.item INTO v_one;
            SELECT i.id, i.name, CASE WHEN i.status <> '' THEN i.version ELSE '' END AS version INTO v_of
            FROM "abide".instance AS i WHERE i.no = v_one.mailbox;
            v_session := NULL;
            IF v_one.session IS NOT NULL THEN
                SELECT s.* INTO v_session FROM "abide".session AS s WHERE s.name = v_one.session;
            END IF;
            v_bytes := v_bytes + octet_length(v_one.item);
            leases := leases || ROW (v_one.no, v_one.mailbox, v_one.lease, v_one.attempts, v_of.id, v_one.execution, v_one.activity,
                                     v_of.name, v_of.version, v_one.item, v_one.session, v_session.claims + 1, v_session.owner,
                                     v_session.locked_until, v_session.last_active_at)::"abide".work_lease;
        END LOOP;
        RETURN;
    END IF;
    IF (SELECT sum(octet_length(w.item)) FROM "abide".work AS w WHERE w.no = ANY (v_work)) > 16777216 THEN
        v_work := ARRAY(
            SELECT c.no
            FROM (SELECT w.no, sum(octet_length(w.item)) OVER (ORDER BY w.no) - octet_length(w.item) AS before
                  FROM "abide".work AS w WHERE w.no = ANY (v_work)) AS c
            WHERE c.before < 16777216 ORDER BY c.no);
    END IF;
    WITH leased AS (
        UPDATE "abide".work AS w
        SET lease = c.nonce, leased_until = p_until, due_at = p_until, attempts = w.attempts + 1
        FROM unnest(v_work, p_nonces) AS c (no, nonce) WHERE w.no = ANY (ARRAY[c.no])
        RETURNING w.no, w.mailbox, w.lease, w.attempts, w.execution, w.activity, w.session, w.item
    )
    SELECT array_agg(ROW (l.no, l.mailbox, l.lease, l.attempts, i.id, l.execution, l.activity, i.name,
                          CASE WHEN i.status <> '' THEN i.version ELSE '' END, l.item, l.session, s.claims + 1, s.owner,
                          s.locked_until, s.last_active_at)
                         ::"abide".work_lease ORDER BY l.no)
    INTO leases
    FROM leased AS l
    LEFT JOIN "abide".instance AS i ON i.no = ANY (ARRAY[l.mailbox])
    LEFT JOIN "abide".session AS s ON s.name = ANY (ARRAY[l.session]);
END $$;


--
-- Name: hand_out(bigint[], bigint[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.hand_out(p_taken bigint[], p_nonces bigint[], p_until bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_box record;
    v_first bigint;    v_attempts integer;    v_item text;    -- the message that starts an execution
    v_other record;    v_last bigint;                         -- those behind it
    v_bytes bigint;    v_bytes_of_others bigint;
    v_handed_out bigint := 0;                                 -- bytes, by those before
BEGIN
    FOR v_place IN 1 .. cardinality(p_taken) LOOP
        EXIT WHEN v_handed_out >= 16777216;
        SELECT b.no, b.id, b.execution, b.last_event, b.status, i.name, i.version, i.parent, i.parent_execution, i.parent_event INTO v_box
        FROM "abide".mailbox AS b JOIN "abide".instance AS i ON i.no = b.no WHERE b.no = p_taken[v_place];
        CONTINUE WHEN NOT FOUND;
        v_first := NULL;    v_bytes := 0;
        IF v_box.execution = 0 OR v_box.status = 'ContinuedAsNew' THEN
            -- One that is hidden comes last, and has no place.
            SELECT m.place, m.attempts, m.item INTO v_first, v_attempts, v_item FROM "abide".message AS m
            WHERE m.mailbox = v_box.no AND m.class IN (1, 2) AND (v_box.execution = 0 OR m.class = 2) ORDER BY m.place LIMIT 1;
        END IF;
        IF v_first IS NOT NULL THEN
            v_bytes := octet_length(v_item);
            messages := messages || ROW (v_box.no, v_first, v_attempts + 1, v_item)::"abide".leased_message;
        END IF;
        -- How far it goes is found by their lengths, without reading them.
        SELECT max(m.no), sum(m.bytes) INTO v_last, v_bytes_of_others
        FROM (SELECT m.no, octet_length(m.item) AS bytes FROM "abide".message AS m
              WHERE m.mailbox = v_box.no AND m.place IS NOT NULL AND m.place IS DISTINCT FROM v_first
              ORDER BY m.place LIMIT CASE WHEN v_first IS NULL THEN 1000 ELSE 999 END) AS m;
        IF v_bytes + v_bytes_of_others > 4194304 THEN
            SELECT max(m.no), sum(m.bytes) INTO v_last, v_bytes_of_others
            FROM (SELECT m.no, m.bytes, v_bytes + sum(m.bytes) OVER (ORDER BY m.no) - m.bytes AS before
                  FROM (SELECT m.no, octet_length(m.item) AS bytes FROM "abide".message AS m
                        WHERE m.mailbox = v_box.no AND m.place <= v_last AND m.place IS DISTINCT FROM v_first) AS m) AS m
            WHERE m.before < 4194304;
        END IF;
        IF v_last IS NOT NULL THEN
            v_bytes := v_bytes + v_bytes_of_others;
            FOR v_other IN
                SELECT m.no, m.attempts, m.item FROM "abide".message AS m
                WHERE m.mailbox = v_box.no AND m.place <= v_last AND m.place IS DISTINCT FROM v_first ORDER BY m.place
            LOOP
                messages := messages || ROW (v_box.no, v_other.no, v_other.attempts + 1, v_other.item)::"abide".leased_message;
            END LOOP;
        END IF;
        v_handed_out := v_handed_out + v_bytes;
        leases := leases || ROW (v_box.no, p_nonces[v_place], v_box.id, v_box.execution, v_box.last_event, v_box.status, v_box.name,
                                 v_box.version, v_box.parent, v_box.parent_execution, v_box.parent_event)::"abide".instance_lease;
        UPDATE "abide".mailbox AS b
        SET lease = p_nonces[v_place], leased_until = p_until, ready = NULL, due_at = p_until, batch_to = coalesce(v_last, 0),
            batch_first = v_first
        WHERE b.no = v_box.no;
    END LOOP;
END $$;


--
-- Name: has_mail(bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.has_mail(p_mailbox bigint, p_now bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (SELECT FROM "abide".message AS m WHERE m.mailbox = p_mailbox AND m.place IS NOT NULL)
        OR EXISTS (SELECT FROM "abide".message AS m WHERE m.mailbox = p_mailbox AND m.visible_at <= p_now);
END $$;


--
-- Name: has_ready_work(text[], text); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.has_ready_work(p_tags text[], p_session_owner text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    -- No EXISTS, which the server might answer by going through all of them first; and each in the order of its index, or any other index
    -- may seem as good to find the first one.
    SELECT EXISTS (
        SELECT FROM unnest(coalesce(p_tags, "abide".ready_tags() || "abide".held_tags(p_session_owner))) AS t
        WHERE (SELECT true FROM "abide".work AS w WHERE w.tag = t AND w.place IS NOT NULL AND w.session IS NULL
               ORDER BY w.place LIMIT 1)
           OR (p_session_owner IS NOT NULL AND (
                  (SELECT true FROM "abide".lane AS l WHERE l.tag = t AND l.head IS NOT NULL AND l.holder IS NULL
                   ORDER BY l.head LIMIT 1)
                  OR (SELECT true FROM "abide".lane AS l
                      WHERE l.holder = p_session_owner AND l.tag = t AND l.head IS NOT NULL
                      ORDER BY l.head LIMIT 1))))
$$;


--
-- Name: held_tags(text); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.held_tags(p_owner text) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        WITH RECURSIVE held (tag) AS (
            (SELECT l.tag FROM "abide".lane AS l WHERE l.head IS NOT NULL AND l.holder = p_owner ORDER BY l.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT l.tag FROM "abide".lane AS l
                    WHERE l.head IS NOT NULL AND l.holder = p_owner AND l.tag > held.tag ORDER BY l.tag LIMIT 1)
            FROM held WHERE held.tag IS NOT NULL
        )
        SELECT coalesce(array_agg(tag), '{}') FROM held WHERE tag IS NOT NULL);
END $$;


--
-- Name: hold_sessions(text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.hold_sessions(p_sessions text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO "abide".session AS s (name)
    SELECT DISTINCT n COLLATE "C" AS name FROM unnest(p_sessions) AS n WHERE n IS NOT NULL ORDER BY name
    ON CONFLICT (name) DO UPDATE SET last_active_at = s.last_active_at;
END $$;


--
-- Name: is_expected(bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.is_expected(p_mailbox bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN EXISTS (SELECT FROM "abide".mailbox AS b WHERE b.no = p_mailbox AND b.execution > 0)
        OR EXISTS (SELECT FROM "abide".message AS s WHERE s.mailbox = p_mailbox AND s.class IN (1, 2));
END $$;


--
-- Name: is_finished(bigint, text); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.is_finished(p_mailbox bigint, p_status text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT p_status IN ('Completed', 'Failed')
        OR (p_status = 'ContinuedAsNew'
            AND NOT EXISTS (SELECT FROM "abide".message AS m WHERE m.mailbox = p_mailbox AND m.class IN (1, 2) AND m.class = 2))
$$;


--
-- Name: is_passed_by(bigint, text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.is_passed_by(p_ready bigint, p_pins text[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_pins text[] := CASE WHEN p_pins IS NULL THEN "abide".ready_pins() ELSE ARRAY[''] || p_pins END;
BEGIN
    RETURN EXISTS (SELECT FROM "abide".mailbox AS b WHERE b.pin = ANY (v_pins) AND b.ready < p_ready);
END $$;


--
-- Name: judge(abide.new_turn[], bigint[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.judge(p_turns abide.new_turn[], p_mailboxes bigint[], p_now bigint, OUT outcomes text[], OUT mailboxes bigint[], OUT living bigint[], OUT instances text[], OUT was_running boolean[], OUT says boolean[], OUT begins boolean, OUT alters boolean, OUT emptied bigint[], OUT unsettled bigint[], OUT sessions text[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    SELECT array_agg(j.outcome), array_agg(CASE WHEN j.outcome = 'ok' THEN j.no END),
           array_agg(CASE WHEN j.outcome = 'ok' AND j.lives THEN j.no END), array_agg(j.id), array_agg(j.was_running),
           array_agg(j.outcome = 'ok' AND j.says), bool_or(j.begins), bool_or(j.alters),
           array_agg(j.no) FILTER (WHERE j.outcome = 'ok' AND j.empties), array_agg(j.no) FILTER (WHERE j.outcome = 'ok' AND j.unsettles),
           array_agg(j.session) FILTER (WHERE j.outcome = 'ok' AND j.session IS NOT NULL)
    INTO outcomes, mailboxes, living, instances, was_running, says, begins, alters, emptied, unsettled, sessions
    FROM (
        SELECT "abide".verdict(t, b, w.lease, w.leased_until, w.mailbox, p_now) AS outcome,
               b.no, b.id, t.creates OR b.execution > 0 AS lives,
               coalesce(b.status IN ('Running', 'ContinuedAsNew'), false) AS was_running,
               coalesce(t.execution > b.execution OR t.status IS NOT NULL OR t.sets_custom_status OR t.pin IS NOT NULL
                        OR t.name IS NOT NULL OR t.version IS NOT NULL OR t.parent IS NOT NULL, false) AS says,
               t.execution > b.execution AS begins,
               t.execution = b.execution AND (t.status IS NOT NULL OR t.pin IS NOT NULL) AS alters,
               t.authority = 'lease' AND t.consumes_all AS empties,
               t.authority <> 'work' OR b.lease IS NOT NULL AS unsettles, w.session
        FROM unnest(p_turns) AS t
        LEFT JOIN "abide".mailbox AS b ON b.no = ANY (ARRAY[p_mailboxes[t.turn]])
        LEFT JOIN "abide".work AS w ON w.no = ANY (ARRAY[t.work])
        ORDER BY t.turn
    ) AS j;
END $$;


--
-- Name: later(bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.later(p_now bigint, p_ms bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE WHEN p_ms > 9223372036854775807 - p_now THEN 9223372036854775807 ELSE p_now + p_ms END
$$;


--
-- Name: lease_instances(integer, bigint, bigint[], text[], text[], bigint[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.lease_instances(p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_pins text[], p_refused text[], p_except bigint[], OUT now bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT unjudged text[], OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_pins text[];
    v_taken bigint[];
BEGIN
    -- Losing a lease in a crash frees it, so nobody waits for the disk. It must be said here: a SET of the function would be undone
    -- before the commit.
    PERFORM set_config('synchronous_commit', 'off', true);
    now := "abide".now();
    PERFORM "abide".come_due(now);

    v_pins := "abide".ready_pins();
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
            SELECT b.no, b.ready FROM "abide".mailbox AS b
            WHERE b.pin = wanted.pin AND b.ready IS NOT NULL AND b.no <> ALL (p_except)
            ORDER BY b.ready LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS found
        ORDER BY found.ready LIMIT p_limit
    ) AS c;
    IF v_taken IS NULL THEN
        due_at := CASE WHEN cardinality(v_pins) > 0 THEN now
                       ELSE (SELECT b.due_at FROM "abide".mailbox AS b WHERE b.due_at IS NOT NULL ORDER BY b.due_at LIMIT 1) END;
        RETURN;
    END IF;

    -- Whoever had one of these before may have recorded a later time than the one read above: histories do not run backwards.
    now := "abide".now();
    SELECT h.leases, h.messages INTO leases, messages
    FROM "abide".hand_out(v_taken, p_nonces, "abide".later(now, p_lease_ms)) AS h;
END $$;


--
-- Name: lease_work(integer, bigint, bigint[], text[], text, bigint, bigint[], bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.lease_work(p_limit integer, p_lease_ms bigint, p_nonces bigint[], p_tags text[], p_session_owner text, p_session_ms bigint, p_except bigint[], p_near bigint, p_leaves_above bigint, OUT now bigint, OUT leases abide.work_lease[], OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_tags text[];
    v_has_lanes boolean;      -- mostly there are none, and then no session is looked for or locked
    v_held text[] := '{}';    -- sessions that the caller may take from, locked
    v_near bigint[] := '{}';
    v_left integer;
    v_to bigint := "abide".taken_up_to(p_leaves_above, 0);
    v_found bigint[];
    v_claimed text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    now := "abide".now();
    PERFORM "abide".work_come_due(now);
    v_has_lanes := (SELECT true FROM "abide".lane AS l ORDER BY l.session, l.tag LIMIT 1);
    IF v_has_lanes THEN
        PERFORM "abide".sessions_come_due(now);
    END IF;
    v_tags := coalesce(p_tags, "abide".ready_tags());

    -- Sessions that may be taken from are locked.
    IF v_has_lanes THEN
        IF p_session_owner IS NOT NULL AND EXISTS (
            SELECT FROM unnest(v_tags) AS t
            WHERE (SELECT true FROM "abide".lane AS l WHERE l.tag = t AND l.head IS NOT NULL AND l.holder IS NULL ORDER BY l.head LIMIT 1)) THEN
            v_held := ARRAY(
                SELECT c.name FROM (SELECT DISTINCT unnest(v_tags) AS tag) AS wanted
                CROSS JOIN LATERAL (
                    SELECT s.name FROM "abide".lane AS l JOIN "abide".session AS s ON s.name = ANY (ARRAY[l.session])
                    WHERE l.tag = wanted.tag AND l.head IS NOT NULL AND l.holder IS NULL
                      AND (s.owner IS NULL OR s.owner = p_session_owner OR s.locked_until <= now)
                    ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
                ) AS c);
        END IF;
        IF (SELECT true FROM "abide".lane AS l WHERE l.holder = p_session_owner AND l.head IS NOT NULL ORDER BY l.tag, l.head LIMIT 1) THEN
            v_held := v_held || ARRAY(
                SELECT c.name FROM (SELECT DISTINCT unnest(coalesce(p_tags, "abide".held_tags(p_session_owner))) AS tag) AS wanted
                CROSS JOIN LATERAL (
                    SELECT s.name FROM "abide".lane AS l JOIN "abide".session AS s ON s.name = ANY (ARRAY[l.session])
                    WHERE l.holder = p_session_owner AND l.tag = wanted.tag AND l.head IS NOT NULL AND s.owner = p_session_owner
                    ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
                ) AS c);
        END IF;
    END IF;

    IF p_near IS NOT NULL THEN
        v_near := "abide".near_work(p_near, v_tags, p_limit, p_except, v_held, p_tags);
    END IF;
    v_left := p_limit - cardinality(v_near);
    v_found := v_near;
    IF v_left > 0 THEN
        v_found := v_near || ARRAY(
            SELECT plain.no
            FROM unnest(v_tags) AS wanted (tag)
            CROSS JOIN LATERAL (
                SELECT w.no FROM "abide".work AS w
                WHERE w.tag = wanted.tag AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except || v_near)
                  AND w.place <= v_to
                ORDER BY w.place LIMIT v_left FOR UPDATE SKIP LOCKED
            ) AS plain
            ORDER BY no LIMIT v_left);
    END IF;
    IF v_left > 0 AND cardinality(v_held) > 0 THEN
        v_found := v_near || ARRAY(
            SELECT bound.no
            FROM "abide".lane AS l
            CROSS JOIN LATERAL (
                SELECT w.no FROM "abide".work AS w
                WHERE w.session = l.session AND w.tag = l.tag AND w.place IS NOT NULL AND w.no <> ALL (p_except)
                ORDER BY w.place LIMIT v_left FOR UPDATE SKIP LOCKED
            ) AS bound
            WHERE l.session = ANY (v_held) AND (p_tags IS NULL OR l.tag = ANY (p_tags))
            UNION ALL
            SELECT plain.no FROM unnest(v_found) AS plain (no) WHERE plain.no <> ALL (v_near)
            ORDER BY no LIMIT v_left);
    END IF;
    IF cardinality(v_found) = 0 THEN
        due_at := CASE WHEN "abide".has_ready_work(p_tags, p_session_owner) THEN now ELSE "abide".next_work_due() END;
        RETURN;
    END IF;

    -- Read again: who waited for a session or a row above gives no shorter leases.
    now := "abide".now();
    leases := "abide".grant_work(v_found, p_nonces, "abide".later(now, p_lease_ms));
    IF v_has_lanes THEN
        SELECT array_agg(DISTINCT l.session) INTO v_claimed FROM unnest(leases) AS l WHERE l.session IS NOT NULL;
    END IF;
    IF v_claimed IS NOT NULL THEN
        UPDATE "abide".session
        SET owner = p_session_owner, locked_until = "abide".later(now, p_session_ms), last_active_at = now, claims = claims + 1
        WHERE name = ANY (v_claimed);
        PERFORM "abide".settle_lanes(v_claimed, NULL, now);
    END IF;
END $$;


--
-- Name: lock_mailboxes(bigint[], text[], text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.lock_mailboxes(p_numbers bigint[], p_required text[], p_optional text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_names text[] := p_required || p_optional;
    v_wanted bigint[] := p_numbers;
    v_locked bigint[];
BEGIN
    IF cardinality(v_names) > 0 THEN
        v_wanted := v_wanted || ARRAY(SELECT i.no FROM "abide".instance AS i WHERE i.id = ANY (v_names));
    END IF;
    v_locked := ARRAY(SELECT b.no FROM "abide".mailbox AS b WHERE b.no = ANY (v_wanted) ORDER BY b.no FOR UPDATE);
    IF cardinality(p_required) > 0 AND EXISTS (
               SELECT unnest(p_required) EXCEPT
               SELECT i.id FROM unnest(v_locked) AS l JOIN "abide".instance AS i ON i.no = ANY (ARRAY[l])) THEN
        RAISE EXCEPTION 'an instance was deleted while a message for it waited' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN v_locked;
END $$;


--
-- Name: near_work(bigint, text[], integer, bigint[], text[], text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.near_work(p_node bigint, p_tags text[], p_limit integer, p_except bigint[], p_sessions text[], p_session_tags text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_tag text;
    v_place bigint;    v_first bigint;
    v_near bigint[] := '{}';
BEGIN
    FOREACH v_tag IN ARRAY p_tags LOOP
        SELECT w.place INTO v_place FROM "abide".work AS w
        WHERE w.tag = v_tag AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except)
        ORDER BY w.place LIMIT 1;
        v_first := least(v_first, v_place);
    END LOOP;
    IF v_first IS NULL THEN
        RETURN '{}';
    END IF;
    IF cardinality(p_sessions) > 0 THEN
        v_first := least(v_first, (
            SELECT min(l.head) FROM "abide".lane AS l
            WHERE l.session = ANY (p_sessions) AND (p_session_tags IS NULL OR l.tag = ANY (p_session_tags))));
    END IF;
    -- The inner limit is how far it looks; the outer one lets it stop before: with some to spare, as others of this node may hold the first.
    FOREACH v_tag IN ARRAY p_tags LOOP
        v_near := v_near || ARRAY(
            SELECT early.no
            FROM (SELECT w.no, w.maker FROM "abide".work AS w
                  WHERE w.tag = v_tag AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except)
                  ORDER BY w.place LIMIT 128 + 4 * p_limit) AS early
            WHERE early.maker = p_node AND early.no < v_first + 1024 LIMIT p_limit + 16);
    END LOOP;
    RETURN ARRAY(
        SELECT w.no FROM "abide".work AS w WHERE w.no = ANY (v_near) AND w.place IS NOT NULL
        ORDER BY w.no LIMIT p_limit FOR UPDATE SKIP LOCKED);
END $$;


--
-- Name: next_work_due(); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.next_work_due() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$
    SELECT least(
        (SELECT w.due_at FROM "abide".work AS w WHERE w.due_at IS NOT NULL ORDER BY w.due_at LIMIT 1),
        (SELECT l.held_until FROM "abide".lane AS l WHERE l.head IS NOT NULL AND l.held_until IS NOT NULL
         ORDER BY l.held_until LIMIT 1))
$$;


--
-- Name: now(); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.now() RETURNS bigint
    LANGUAGE sql
    AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint
$$;


--
-- Name: older_work(abide.work_offer, integer); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.older_work(p_offer abide.work_offer, p_made integer) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_wanted integer := cardinality(p_offer.nonces);
    v_to bigint := "abide".taken_up_to(p_offer.leaves_above, p_made);
    v_found bigint[] := '{}';
BEGIN
    IF p_offer.near IS NOT NULL THEN
        v_found := "abide".near_work(p_offer.near, p_offer.tags, v_wanted, '{}', '{}', '{}');
    END IF;
    IF cardinality(v_found) < v_wanted THEN
        v_found := v_found || ARRAY(
            SELECT c.no FROM unnest(p_offer.tags) AS wanted (tag)
            CROSS JOIN LATERAL (
                SELECT w.no FROM "abide".work AS w
                WHERE w.tag = wanted.tag AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (v_found) AND w.place <= v_to
                ORDER BY w.place LIMIT v_wanted - cardinality(v_found) FOR UPDATE SKIP LOCKED
            ) AS c ORDER BY c.no LIMIT v_wanted - cardinality(v_found));
    END IF;
    RETURN v_found;
END $$;


--
-- Name: post(abide.new_message[], bigint[], bigint[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.post(p_messages abide.new_message[], p_locked bigint[], p_living bigint[], p_now bigint) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_one "abide".new_message;
    v_messages "abide".new_message[] := p_messages;
    v_into bigint[];
BEGIN
    IF cardinality(p_messages) = 1 AND p_messages[1].class <> 3 THEN
        v_one := p_messages[1];
        INSERT INTO "abide".message (mailbox, class, visible_at, execution, event, parent, item)
        SELECT i.no, v_one.class, CASE WHEN v_one.visible_at > p_now THEN v_one.visible_at END, v_one.execution, v_one.event,
               v_one.parent, v_one.item
        FROM "abide".instance AS i WHERE i.id = v_one.recipient
        RETURNING ARRAY[mailbox] INTO v_into;
        RETURN v_into;
    END IF;
    IF EXISTS (SELECT FROM unnest(p_messages) AS m WHERE m.class = 3) THEN
        v_messages := ARRAY(
            SELECT ROW (m.turn, m.recipient, m.class, m.visible_at, m.execution, m.event, m.parent, m.item)::"abide".new_message
            FROM (SELECT m.*, bool_or(m.class IN (1, 2)) OVER (PARTITION BY m.recipient ORDER BY m.place) AS starts
                  FROM unnest(p_messages) WITH ORDINALITY
                       AS m (turn, recipient, class, visible_at, execution, event, parent, item, place)) AS m
            LEFT JOIN "abide".instance AS i ON i.id = ANY (ARRAY[m.recipient])
            -- "Is true" keeps these from becoming joins, which would compare each with each.
            WHERE m.class <> 3 OR (i.no IN (SELECT unnest(p_locked))) IS TRUE
                  AND (m.starts OR (i.no IN (SELECT unnest(p_living))) IS TRUE OR "abide".is_expected(i.no))
            ORDER BY m.place);
    END IF;
    WITH sent AS (
        INSERT INTO "abide".message (mailbox, class, visible_at, execution, event, parent, item)
        SELECT i.no, m.class, CASE WHEN m.visible_at > p_now THEN m.visible_at END, m.execution, m.event, m.parent, m.item
        FROM unnest(v_messages) WITH ORDINALITY AS m (turn, recipient, class, visible_at, execution, event, parent, item, place)
        JOIN "abide".instance AS i ON i.id = ANY (ARRAY[m.recipient])
        ORDER BY m.place
        RETURNING mailbox
    )
    SELECT array_agg(DISTINCT s.mailbox) INTO v_into FROM sent AS s;
    RETURN v_into;
END $$;


--
-- Name: prunable(bigint, bigint, bigint, bigint, bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.prunable(p_mailbox bigint, p_current bigint, p_unbroken bigint, p_keeps bigint, p_ended_before bigint, p_most bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_in_a_row bigint := p_current - p_unbroken + 1;
    v_from bigint;
    v_kept_before_it bigint;
    v_last bigint;
    v_ended_at bigint;
BEGIN
    -- Of those before a gap, as many are kept as are missing behind it. Hardly anything is left there: prunes begin with the oldest.
    IF v_in_a_row >= p_keeps THEN
        v_from := p_current - p_keeps;
        v_kept_before_it := 0;
    ELSE
        v_from := p_unbroken - 1;
        v_kept_before_it := p_keeps - v_in_a_row;
    END IF;
    SELECT e.no, e.completed_at INTO v_last, v_ended_at
    FROM "abide".execution AS e WHERE e.mailbox = p_mailbox AND e.no <= v_from
    ORDER BY e.no DESC LIMIT 1 OFFSET v_kept_before_it;
    IF v_last IS NULL THEN
        RETURN '{}';
    END IF;
    -- Executions end one after the other. If the last that may go ended early enough, so did the others, and they are taken by number;
    -- if not, those that did are few, or none. A clock that was set back makes either way longer, not wrong.
    IF p_ended_before IS NULL OR v_ended_at < p_ended_before THEN
        RETURN ARRAY(SELECT e.no FROM "abide".execution AS e
                     WHERE e.mailbox = p_mailbox AND e.no <= v_last AND e.status <> 'Running'
                       AND (p_ended_before IS NULL OR e.completed_at < p_ended_before)
                     ORDER BY e.no LIMIT p_most);
    END IF;
    RETURN ARRAY(SELECT e.no FROM "abide".execution AS e
                 WHERE e.mailbox = p_mailbox AND e.completed_at < p_ended_before AND e.no <= v_last AND e.status <> 'Running'
                 ORDER BY e.completed_at, e.no LIMIT p_most);
END $$;


--
-- Name: prune_executions(text, bigint, bigint, bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.prune_executions(p_id text, p_keeps bigint, p_ended_before bigint, p_most bigint, p_instance_ended_before bigint, OUT outcome text, OUT executions bigint, OUT events bigint, OUT stolen text[], OUT because text[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_locked bigint[] := "abide".lock_mailboxes('{}', '{}', ARRAY[p_id]);
    v_mailbox "abide".mailbox;
    v_pruned bigint[];
    v_work bigint[];
    v_sessions text[];
    v_now bigint;
BEGIN
    outcome := 'ok';    executions := 0;    events := 0;    stolen := '{}';    because := '{}';
    SELECT b.* INTO v_mailbox FROM "abide".mailbox AS b JOIN "abide".instance AS i ON i.no = ANY (ARRAY[b.no])
    WHERE i.id = p_id AND b.no = ANY (v_locked) AND b.execution > 0;
    IF v_mailbox.no IS NULL THEN
        outcome := 'unknown';
        RETURN;
    END IF;
    IF p_instance_ended_before IS NOT NULL AND NOT EXISTS (
        SELECT FROM "abide".instance AS i WHERE i.no = v_mailbox.no AND i.completed_at < p_instance_ended_before) THEN
        outcome := 'spared';
        RETURN;
    END IF;
    v_pruned := "abide".prunable(v_mailbox.no, v_mailbox.execution, v_mailbox.unbroken, p_keeps, p_ended_before, p_most);
    IF cardinality(v_pruned) = 0 THEN
        RETURN;
    END IF;
    v_work := ARRAY(SELECT w.no FROM "abide".work AS w WHERE w.mailbox = v_mailbox.no AND w.execution = ANY (v_pruned)
                    ORDER BY w.no + 0 FOR UPDATE);
    v_now := "abide".now();
    SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_sessions
    FROM "abide".take_back(v_work, array_fill('deleted'::text, ARRAY[cardinality(v_work)]), v_now) AS g;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM "abide".hold_sessions(v_sessions);
        PERFORM "abide".settle_lanes(v_sessions, NULL, v_now);
    END IF;
    executions := cardinality(v_pruned);
    events := "abide".drop_executions(v_mailbox.no, v_pruned);
END $$;


--
-- Name: ready_pins(); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.ready_pins() RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        WITH RECURSIVE pin (pin) AS (
            (SELECT b.pin FROM "abide".mailbox AS b WHERE b.ready IS NOT NULL ORDER BY b.pin LIMIT 1)
            UNION ALL
            SELECT (SELECT b.pin FROM "abide".mailbox AS b WHERE b.ready IS NOT NULL AND b.pin > pin.pin
                    ORDER BY b.pin LIMIT 1)
            FROM pin WHERE pin.pin IS NOT NULL
        )
        SELECT coalesce(array_agg(pin.pin), '{}') FROM pin WHERE pin.pin IS NOT NULL);
END $$;


--
-- Name: ready_tags(); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.ready_tags() RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (
        WITH RECURSIVE plain (tag) AS (
            (SELECT w.tag FROM "abide".work AS w WHERE w.place IS NOT NULL AND w.session IS NULL ORDER BY w.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT w.tag FROM "abide".work AS w
                    WHERE w.place IS NOT NULL AND w.session IS NULL AND w.tag > plain.tag ORDER BY w.tag LIMIT 1)
            FROM plain WHERE plain.tag IS NOT NULL
        ), free (tag) AS (
            (SELECT l.tag FROM "abide".lane AS l WHERE l.head IS NOT NULL AND l.holder IS NULL ORDER BY l.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT l.tag FROM "abide".lane AS l WHERE l.head IS NOT NULL AND l.holder IS NULL AND l.tag > free.tag
                    ORDER BY l.tag LIMIT 1)
            FROM free WHERE free.tag IS NOT NULL
        )
        SELECT coalesce(array_agg(tag), '{}') FROM (SELECT tag FROM plain UNION SELECT tag FROM free) AS t
        WHERE tag IS NOT NULL);
END $$;


--
-- Name: register(text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.register(p_ids text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_missing text[] := ARRAY(
        SELECT n.id FROM unnest(p_ids) WITH ORDINALITY AS n (id, place)
        WHERE (SELECT i.no FROM "abide".instance AS i WHERE i.id = n.id) IS NULL GROUP BY n.id ORDER BY min(n.place));
    v_made bigint[] := '{}';
BEGIN
    IF cardinality(v_missing) > 0 THEN
        WITH numbered AS MATERIALIZED (
            SELECT nextval('"abide".mailbox_number') AS no, m.id COLLATE "C" AS id
            FROM (SELECT m.id FROM unnest(v_missing) WITH ORDINALITY AS m (id, place) ORDER BY m.place) AS m
        ), named AS (
            INSERT INTO "abide".instance (no, id) SELECT n.no, n.id FROM numbered AS n ORDER BY n.id
            ON CONFLICT (id) DO NOTHING RETURNING no, id
        ), boxed AS (
            INSERT INTO "abide".mailbox (no, id) SELECT no, id FROM named RETURNING no
        )
        SELECT coalesce(array_agg(no), '{}') INTO v_made FROM boxed;
    END IF;
    RETURN v_made;
END $$;


--
-- Name: rehearse(); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.rehearse() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_is_alone boolean;
    v_id text;
    v_turn "abide".new_turn;
    v_message "abide".new_message;    v_note "abide".new_message;
    v_outline "abide".outline;
    v_mailbox bigint;
    v_work "abide".new_work[];
    v_offer "abide".work_offer;
    v_step bigint;
BEGIN
    -- All tables first, or none: somebody may be dropping them, one after the other, and neither should wait for the other.
    PERFORM nextval('"abide".number'), nextval('"abide".mailbox_number');
    LOCK TABLE "abide".instance, "abide".mailbox, "abide".execution, "abide".turn, "abide".message, "abide".work, "abide".session, "abide".lane,
               "abide".kv_store, "abide".kv_delta, "abide".request, "abide".dead_letter IN ROW EXCLUSIVE MODE NOWAIT;
    -- As many turns are committed, and as one that is alone.
    FOREACH v_is_alone IN ARRAY '{false, true}'::boolean[] LOOP
        v_id := 'rehearsal ' || pg_backend_pid() || v_is_alone;
        v_turn := NULL;    v_outline := NULL;
        v_message := ROW (1, v_id, 1, NULL, NULL, NULL, NULL, '{}')::"abide".new_message;
        IF v_is_alone THEN
            PERFORM "abide".start_one(v_message, NULL, convert_to(v_id, 'UTF8'), true, NULL);
        ELSE
            PERFORM "abide".enqueue_messages(ARRAY[v_message], '{NULL}', '{NULL}', '{true}', NULL);
        END IF;
        SELECT b.no INTO v_mailbox FROM "abide".mailbox AS b WHERE b.no = (SELECT i.no FROM "abide".instance AS i WHERE i.id = v_id);
        PERFORM "abide".settle(ARRAY[v_mailbox], ROW (60000, '{1}', '{rehearsal}')::"abide".instance_offer, "abide".now());
        -- Also if somebody has waited for longer.
        PERFORM "abide".hand_out(ARRAY[v_mailbox], '{1}', "abide".later("abide".now(), 60000));

        -- A first turn, which begins an activity and tells its own instance something (a timer, if it is alone), and a step by what that
        -- activity brings.
        v_turn.turn := 1;    v_turn.instance := v_id;    v_turn.mailbox := v_mailbox;    v_turn.nonce := 1;    v_turn.consumes_all := true;
        v_turn.creates := true;    v_turn.execution := 1;    v_turn.first_event := 1;    v_turn.last_event := 1;    v_turn.length := 1;
        v_turn.events := '[]';    v_turn.sets_custom_status := false;    v_turn.clears_kv := false;    v_turn.folds_kv := true;
        v_turn.ends_timers := false;    v_turn.authority := 'lease';
        -- Somebody waits for work, and is given what is older, under a tag that nobody else can have.
        INSERT INTO "abide".work (mailbox, execution, activity, tag, item) VALUES (v_mailbox, 1, 0, 'rehearsal', '{}');
        v_outline.mailboxes := ARRAY[v_mailbox];    v_outline.required := ARRAY[v_id];    v_outline.optional := '{}';    v_outline.node := 1;
        v_outline.names := false;    v_outline.consumes_some := false;    v_outline.prunes := false;    v_outline.writes_kv := true;
        v_outline.timers := true;    v_outline.work := '{}';
        v_work := ARRAY[ROW (1, NULL, 1, 1, NULL, 'rehearsal', 1, '{}')::"abide".new_work];
        v_offer := ROW (60000, '{1}', '{rehearsal}', 1, NULL)::"abide".work_offer;
        IF v_is_alone THEN
            v_message := ROW (1, v_id, 4, "abide".later("abide".now(), 60000), 1, 2, NULL, '{}')::"abide".new_message;
            PERFORM "abide".commit_one(v_turn, v_work, ARRAY[v_message], 1, NULL, v_offer);
        ELSE
            v_work := v_work || ROW (1, NULL, 1, 2, NULL, 'rehearsal', 2, '{}')::"abide".new_work;
            v_note := ROW (1, v_id, 3, NULL, NULL, NULL, NULL, '{}')::"abide".new_message;
            PERFORM "abide".commit_turns(ARRAY[v_turn], v_work, '{}', ARRAY[v_message, v_note], v_outline, NULL, v_offer);
        END IF;
        DELETE FROM "abide".message WHERE no = ANY (ARRAY(
            SELECT m.no FROM "abide".message AS m WHERE m.mailbox = v_mailbox AND m.place IS NOT NULL ORDER BY m.place));
        PERFORM "abide".settle(ARRAY[v_mailbox], NULL, "abide".now());
        UPDATE "abide".work SET lease = 1, leased_until = "abide".later("abide".now(), 60000) WHERE mailbox = v_mailbox AND activity = 1
        RETURNING no INTO v_step;
        v_turn.authority := 'work';    v_turn.work := v_step;    v_turn.expected_mailbox := v_mailbox;    v_turn.expected_execution := 1;
        v_turn.expected_event := 1;    v_turn.first_event := 2;    v_turn.last_event := 2;    v_turn.status := 'Completed';
        v_turn.ends_timers := true;
        v_outline.required := '{}';    v_outline.work := ARRAY[v_step];
        IF v_is_alone THEN
            PERFORM "abide".commit_one(v_turn, '{}', '{}', 1, NULL, NULL);
        ELSE
            PERFORM "abide".commit_turns(ARRAY[v_turn], '{}', '{}', '{}', v_outline, NULL, NULL);
        END IF;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'ABIDE';
EXCEPTION WHEN SQLSTATE 'ABIDE' OR lock_not_available THEN
    NULL;
END $$;


--
-- Name: remove_timers(abide.new_turn[], bigint[], bigint[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.remove_timers(p_turns abide.new_turn[], p_mailboxes bigint[], p_unsettled bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_turn "abide".new_turn;
    v_mailbox bigint;
    v_event bigint;
    v_found boolean;
    v_unsettled bigint[] := p_unsettled;
BEGIN
    FOREACH v_turn IN ARRAY p_turns LOOP
        v_mailbox := p_mailboxes[v_turn.turn];
        CONTINUE WHEN v_mailbox IS NULL;
        v_found := false;
        IF v_turn.ends_timers THEN
            DELETE FROM "abide".message AS m WHERE m.mailbox = v_mailbox AND m.class = 4 AND m.execution = v_turn.execution;
            v_found := FOUND;
        ELSIF cardinality(v_turn.timers) > 0 THEN
            -- One look at the index for each, however many there are.
            FOREACH v_event IN ARRAY v_turn.timers LOOP
                DELETE FROM "abide".message AS m
                WHERE m.mailbox = v_mailbox AND m.class = 4 AND m.execution = v_turn.execution AND m.event = v_event;
                v_found := v_found OR FOUND;
            END LOOP;
        END IF;
        IF v_found AND (v_mailbox = ANY (v_unsettled)) IS NOT TRUE THEN
            v_unsettled := v_unsettled || v_mailbox;
        END IF;
    END LOOP;
    RETURN v_unsettled;
END $$;


--
-- Name: renew_instances(bigint[], bigint[], bigint[], boolean); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.renew_instances(p_mailboxes bigint[], p_nonces bigint[], p_extend_ms bigint[], p_waits boolean) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_now bigint;
    v_there bigint[];
    v_locked bigint[];
    v_held bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF p_waits THEN
        PERFORM set_config('lock_timeout', '500ms', true);
        v_locked := ARRAY(SELECT b.no FROM "abide".mailbox AS b WHERE b.no = ANY (p_mailboxes) ORDER BY b.no FOR UPDATE);
    ELSE
        v_locked := ARRAY(SELECT b.no FROM "abide".mailbox AS b WHERE b.no = ANY (p_mailboxes) ORDER BY b.no FOR UPDATE SKIP LOCKED);
    END IF;
    v_now := "abide".now();
    v_there := ARRAY(SELECT b.no FROM "abide".mailbox AS b WHERE b.no = ANY (p_mailboxes));
    WITH renewed AS (
        UPDATE "abide".mailbox AS b
        SET leased_until = greatest(b.leased_until, "abide".later(v_now, r.extend)),
            due_at = greatest(b.leased_until, "abide".later(v_now, r.extend))
        FROM unnest(p_mailboxes, p_nonces, p_extend_ms) AS r (no, nonce, extend)
        WHERE b.no = ANY (ARRAY[r.no]) AND r.no = ANY (v_locked) AND b.lease = r.nonce AND b.leased_until > v_now RETURNING b.no
    )
    SELECT coalesce(array_agg(no), '{}') INTO v_held FROM renewed;
    RETURN ARRAY(SELECT CASE WHEN r.no = ANY (v_held) THEN 'ok'
                             WHEN r.no = ANY (v_there) AND r.no <> ALL (v_locked) THEN 'busy'
                             ELSE 'lost' END
                 FROM unnest(p_mailboxes) WITH ORDINALITY AS r (no, place) ORDER BY r.place);
END $$;


--
-- Name: renew_sessions(text[], bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.renew_sessions(p_owners text[], p_extend_ms bigint, p_idle_ms bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_now bigint;
    v_held text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    -- The connection that renews does nothing else meanwhile; whoever asks asks again.
    PERFORM set_config('lock_timeout', '500ms', true);
    v_held := ARRAY(SELECT s.name FROM "abide".session AS s WHERE s.owner = ANY (p_owners) ORDER BY s.name || '' FOR UPDATE);
    v_now := "abide".now();
    v_held := ARRAY(SELECT s.name FROM "abide".session AS s
                    WHERE s.name = ANY (v_held) AND s.owner = ANY (p_owners) AND s.locked_until > v_now
                      AND s.last_active_at > v_now - p_idle_ms);
    UPDATE "abide".session SET locked_until = greatest(locked_until, "abide".later(v_now, p_extend_ms)) WHERE name = ANY (v_held);
    PERFORM "abide".settle_lanes(v_held, NULL, v_now);
    RETURN cardinality(v_held);
END $$;


--
-- Name: renew_work(bigint[], bigint[], bigint[], boolean); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.renew_work(p_work bigint[], p_nonces bigint[], p_extend_ms bigint[], p_waits boolean) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_now bigint;
    v_there bigint[];
    v_locked bigint[];
    v_held bigint[];
    v_sessions text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF p_waits THEN
        PERFORM set_config('lock_timeout', '500ms', true);
        v_locked := ARRAY(SELECT w.no FROM "abide".work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE);
    ELSE
        v_locked := ARRAY(SELECT w.no FROM "abide".work AS w WHERE w.no = ANY (p_work) ORDER BY w.no FOR UPDATE SKIP LOCKED);
    END IF;
    v_now := "abide".now();
    v_there := ARRAY(SELECT w.no FROM "abide".work AS w WHERE w.no = ANY (p_work));
    WITH renewed AS (
        UPDATE "abide".work AS w
        SET leased_until = greatest(w.leased_until, "abide".later(v_now, r.extend)),
            due_at = greatest(w.leased_until, "abide".later(v_now, r.extend))
        FROM unnest(p_work, p_nonces, p_extend_ms) AS r (no, nonce, extend)
        WHERE w.no = ANY (ARRAY[r.no]) AND r.no = ANY (v_locked) AND w.lease = r.nonce AND w.leased_until > v_now RETURNING w.no, w.session
    )
    SELECT coalesce(array_agg(no), '{}'), array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL)
    INTO v_held, v_sessions FROM renewed;
    IF v_sessions IS NOT NULL THEN
        v_sessions := ARRAY(SELECT s.name FROM "abide".session AS s WHERE s.name = ANY (v_sessions) ORDER BY s.name FOR UPDATE SKIP LOCKED);
        PERFORM "abide".use_sessions(v_sessions, v_now);
    END IF;
    RETURN ARRAY(SELECT CASE WHEN r.no = ANY (v_held) THEN 'ok'
                             WHEN r.no = ANY (v_there) AND r.no <> ALL (v_locked) THEN 'busy'
                             ELSE 'lost' END
                 FROM unnest(p_work) WITH ORDINALITY AS r (no, place) ORDER BY r.place);
END $$;


--
-- Name: sessions_come_due(bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.sessions_come_due(p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- First those whose time seems to be over, then the same under their lock: it may have been renewed.
    v_free text[] := ARRAY(SELECT s.name FROM "abide".session AS s
                           WHERE s.name = ANY (ARRAY(SELECT l.session FROM "abide".lane AS l
                                                     WHERE l.head IS NOT NULL AND l.held_until <= p_now
                                                     ORDER BY l.held_until LIMIT 1000))
                             AND s.locked_until <= p_now
                           ORDER BY s.name FOR UPDATE SKIP LOCKED);
BEGIN
    IF cardinality(v_free) > 0 THEN
        PERFORM "abide".settle_lanes(v_free, NULL, p_now);
    END IF;
END $$;


--
-- Name: set_messages_aside(bigint, bigint, bigint[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.set_messages_aside(p_mailbox bigint, p_nonce bigint, p_messages bigint[], OUT dead bigint[], OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_mailbox "abide".mailbox;
    v_settled record;
BEGIN
    SELECT * INTO v_mailbox FROM "abide".mailbox AS b WHERE b.no = p_mailbox FOR UPDATE;
    v_now := "abide".now();
    -- However short the lease was: while the nonce is there, nobody else has it.
    IF (v_mailbox.lease = p_nonce) IS NOT TRUE THEN
        RETURN;
    END IF;
    WITH dying AS (
        DELETE FROM "abide".message AS m
        WHERE m.no = ANY (p_messages) AND m.mailbox = p_mailbox AND m.attempts >= 10 RETURNING m.no, m.attempts, m.item
    ), buried AS (
        INSERT INTO "abide".dead_letter (no, queue, instance, attempts, dead_at, item)
        SELECT d.no, 'message', v_mailbox.id, d.attempts + 1, v_now, d.item FROM dying AS d RETURNING no
    )
    SELECT array_agg(no) INTO dead FROM buried;
    UPDATE "abide".message AS m
    SET attempts = m.attempts + 1, visible_at = v_now + 1000 * least(power(2, least(m.attempts, 10)), 60)::bigint
    WHERE m.no = ANY (p_messages) AND m.mailbox = p_mailbox;

    UPDATE "abide".mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL WHERE no = p_mailbox;
    v_settled := "abide".settle(ARRAY[p_mailbox], NULL, v_now);
    due_at := v_settled.due_at;
    IF v_settled.wakes THEN
        SELECT h.leases, h.messages INTO leases, messages
        FROM "abide".hand_out(ARRAY[p_mailbox], ARRAY[p_nonce], v_mailbox.leased_until) AS h;
    END IF;
END $$;


--
-- Name: set_work_aside(bigint, bigint, bigint, text, bigint, text, bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.set_work_aside(p_work bigint, p_mailbox bigint, p_nonce bigint, p_poison text, p_claim bigint, p_owner text, p_lock bigint, p_activity bigint, OUT is_dead boolean, OUT wakes boolean, OUT due_at bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_work "abide".work;
    v_settled record;
BEGIN
    PERFORM "abide".lock_mailboxes(ARRAY[p_mailbox], '{}', '{}');
    SELECT * INTO v_work FROM "abide".work AS w WHERE w.no = p_work FOR UPDATE;
    v_now := "abide".now();
    is_dead := false;
    -- However short the lease was: while the nonce is there, nobody else has it.
    IF (v_work.lease = p_nonce AND v_work.mailbox = p_mailbox) IS NOT TRUE THEN
        RETURN;
    END IF;
    IF v_work.attempts > 10 THEN
        is_dead := true;
        DELETE FROM "abide".work WHERE no = p_work;
        INSERT INTO "abide".dead_letter (no, queue, instance, attempts, dead_at, item)
        VALUES (p_work, 'work', coalesce((SELECT b.id FROM "abide".mailbox AS b WHERE b.no = p_mailbox), ''), v_work.attempts, v_now,
                v_work.item);
        INSERT INTO "abide".message (mailbox, class, item)
        SELECT b.no, 0, p_poison FROM "abide".mailbox AS b WHERE b.no = p_mailbox;
        v_settled := "abide".settle(ARRAY[p_mailbox], NULL, v_now);
        wakes := v_settled.wakes;    due_at := v_settled.due_at;
    ELSE
        UPDATE "abide".work
        SET lease = NULL, leased_until = NULL, due_at = v_now + 1000 * least(power(2, least(attempts - 1, 10)), 60)::bigint
        WHERE no = p_work;
    END IF;
    IF v_work.session IS NOT NULL THEN
        PERFORM "abide".hold_sessions(ARRAY[v_work.session]);
        UPDATE "abide".session SET owner = p_owner, locked_until = p_lock, last_active_at = p_activity
        WHERE name = v_work.session AND claims = p_claim;
        PERFORM "abide".settle_lanes(ARRAY[v_work.session], NULL, v_now);
    END IF;
END $$;


--
-- Name: settle(bigint[], abide.instance_offer, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.settle(p_mailboxes bigint[], p_offer abide.instance_offer, p_now bigint, OUT wakes boolean, OUT due_at bigint, OUT leases abide.instance_lease[], OUT messages abide.leased_message[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    -- Those that are ready or change, the first in the queue first, and what each offers.
    v_found bigint[];    v_readies bigint[];    v_dues bigint[];
    v_wanted bigint[];   -- those that he would take, in the same order
    v_first bigint;
    v_handed record;
BEGIN
    SELECT array_agg(f.no), array_agg(f.ready), array_agg(f.due_at), bool_or(f.ready IS NOT NULL), min(f.due_at),
           array_agg(f.no) FILTER (WHERE f.is_wanted), min(f.ready) FILTER (WHERE f.is_wanted)
    INTO v_found, v_readies, v_dues, wakes, due_at, v_wanted, v_first
    FROM (
        SELECT b.no, s.ready, s.due_at,
               s.ready IS NOT NULL AND (p_offer.pins IS NULL OR b.pin = '' OR b.pin = ANY (p_offer.pins)) AS is_wanted
        FROM "abide".mailbox AS b CROSS JOIN LATERAL "abide".standing(b.no, b.execution > 0) AS s
        WHERE b.no = ANY (p_mailboxes) AND b.lease IS NULL
          AND (s.ready IS NOT NULL OR s.due_at IS NOT NULL OR b.ready IS NOT NULL OR b.due_at IS NOT NULL)
        ORDER BY s.ready
    ) AS f;
    wakes := coalesce(wakes, false);
    IF v_found IS NULL THEN
        RETURN;
    END IF;
    IF v_wanted IS NOT NULL AND cardinality(p_offer.nonces) > 0 AND NOT "abide".is_passed_by(v_first, p_offer.pins) THEN
        v_handed := "abide".hand_out(v_wanted[:cardinality(p_offer.nonces)], p_offer.nonces, "abide".later(p_now, p_offer.lease_ms));
        leases := v_handed.leases;    messages := v_handed.messages;
        IF cardinality(leases) = cardinality(v_found) THEN
            wakes := false;    due_at := NULL;
            RETURN;
        END IF;
        -- Those that are left.
        SELECT array_agg(f.no), array_agg(f.ready), array_agg(f.due_at), bool_or(f.ready IS NOT NULL), min(f.due_at)
        INTO v_found, v_readies, v_dues, wakes, due_at
        FROM unnest(v_found, v_readies, v_dues) AS f (no, ready, due_at)
        WHERE f.no <> ALL (v_wanted[:cardinality(leases)]);
    END IF;
    UPDATE "abide".mailbox AS b SET ready = f.ready, due_at = f.due_at
    FROM unnest(v_found, v_readies, v_dues) AS f (no, ready, due_at)
    WHERE b.no = ANY (ARRAY[f.no]) AND (b.ready, b.due_at) IS DISTINCT FROM (f.ready, f.due_at);
END $$;


--
-- Name: settle_lanes(text[], text[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.settle_lanes(p_sessions text[], p_tags text[], p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO "abide".lane (session, tag)
    SELECT DISTINCT s, t FROM unnest(p_sessions, p_tags) AS new (s, t) WHERE s IS NOT NULL AND t IS NOT NULL
    ON CONFLICT DO NOTHING;

    UPDATE "abide".lane AS l
    SET head = (SELECT w.place FROM "abide".work AS w
                WHERE w.session = l.session AND w.tag = l.tag AND w.place IS NOT NULL ORDER BY w.place LIMIT 1),
        holder = CASE WHEN s.locked_until > p_now THEN s.owner END,
        held_until = CASE WHEN s.locked_until > p_now THEN s.locked_until END
    FROM "abide".session AS s WHERE s.name = ANY (p_sessions) AND l.session = ANY (ARRAY[s.name]);
END $$;


--
-- Name: standing(bigint, boolean); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.standing(p_mailbox bigint, p_is_instance boolean) RETURNS TABLE(ready bigint, due_at bigint)
    LANGUAGE sql STABLE ROWS 1
    AS $$
    SELECT CASE WHEN p_is_instance OR EXISTS (
                    SELECT FROM "abide".message AS m
                    WHERE m.mailbox = p_mailbox AND m.class IN (1, 2) AND m.place IS NOT NULL)
                THEN (SELECT m.place FROM "abide".message AS m
                      WHERE m.mailbox = p_mailbox AND m.place IS NOT NULL ORDER BY m.place LIMIT 1) END,
           (SELECT m.visible_at FROM "abide".message AS m
            WHERE m.mailbox = p_mailbox AND m.visible_at IS NOT NULL ORDER BY m.visible_at LIMIT 1)
$$;


--
-- Name: start_one(abide.new_message, bigint, bytea, boolean, abide.instance_offer); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.start_one(p_message abide.new_message, p_delay_ms bigint, p_key bytea, p_only_once boolean, p_offer abide.instance_offer, OUT outcomes text[], OUT wakes boolean, OUT due_at bigint, OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_hour_ago bigint;
    v_mailbox bigint;    v_sent bigint;
    v_hidden_until bigint;    v_leased_until bigint;
BEGIN
    IF EXISTS (SELECT FROM "abide".instance AS i WHERE i.id = p_message.recipient) THEN
        SELECT e.outcomes, e.wakes, e.due_at, e.now, e.instance_leases, e.messages
        INTO outcomes, wakes, due_at, now, instance_leases, messages
        FROM "abide".enqueue_messages(ARRAY[p_message], ARRAY[p_delay_ms], ARRAY[p_key], ARRAY[p_only_once], p_offer) AS e;
        RETURN;
    END IF;
    now := "abide".now();    wakes := false;
    IF p_key IS NOT NULL THEN
        v_hour_ago := now - 3600000;
        INSERT INTO "abide".request AS r (key, seen_at) VALUES (p_key, now)
        ON CONFLICT (key) DO UPDATE SET seen_at = now WHERE r.seen_at <= v_hour_ago;
        IF NOT FOUND THEN
            outcomes := '{repeated}';
            RETURN;
        END IF;
        -- More than come, so that they do not pile up.
        DELETE FROM "abide".request WHERE key = ANY (ARRAY(
            SELECT r.key FROM "abide".request AS r WHERE r.seen_at <= v_hour_ago ORDER BY r.seen_at LIMIT 18 FOR UPDATE SKIP LOCKED));
    END IF;
    v_mailbox := nextval('"abide".mailbox_number');
    INSERT INTO "abide".instance (no, id) VALUES (v_mailbox, p_message.recipient) ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another call started the instance at the same time' USING ERRCODE = 'serialization_failure';
    END IF;
    now := "abide".now();    outcomes := '{ok}';
    v_hidden_until := greatest(p_message.visible_at, "abide".later(now, p_delay_ms));
    INSERT INTO "abide".message (mailbox, class, visible_at, execution, event, parent, item)
    VALUES (v_mailbox, p_message.class, CASE WHEN v_hidden_until > now THEN v_hidden_until END, p_message.execution, p_message.event,
            p_message.parent, p_message.item)
    RETURNING no, visible_at INTO v_sent, v_hidden_until;
    IF v_hidden_until IS NULL AND coalesce(cardinality(p_offer.nonces), 0) > 0 AND NOT "abide".is_passed_by(v_sent, p_offer.pins) THEN
        v_leased_until := "abide".later(now, p_offer.lease_ms);
        INSERT INTO "abide".mailbox (no, id, lease, leased_until, batch_to, batch_first, due_at)
        VALUES (v_mailbox, p_message.recipient, p_offer.nonces[1], v_leased_until, 0, v_sent, v_leased_until);
        instance_leases := ARRAY[ROW (v_mailbox, p_offer.nonces[1], p_message.recipient, 0, 0, '', '', 'unknown', NULL, NULL,
                                      NULL)::"abide".instance_lease];
        messages := ARRAY[ROW (v_mailbox, v_sent, 1, p_message.item)::"abide".leased_message];
    ELSE
        wakes := v_hidden_until IS NULL;    due_at := v_hidden_until;
        INSERT INTO "abide".mailbox (no, id, ready, due_at)
        VALUES (v_mailbox, p_message.recipient, CASE WHEN wakes THEN v_sent END, v_hidden_until);
    END IF;
END $$;


--
-- Name: take_back(bigint[], text[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.take_back(p_work bigint[], p_because text[], p_now bigint, OUT stolen text[], OUT because text[], OUT sessions text[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
BEGIN
    WITH gone AS (
        DELETE FROM "abide".work AS w
        USING (SELECT DISTINCT ON (no) no, why FROM unnest(p_work, p_because) AS d (no, why) ORDER BY no) AS d
        WHERE w.no = ANY (ARRAY[d.no])
        RETURNING w.no, w.mailbox, CASE WHEN w.leased_until > p_now THEN w.lease END AS lease, w.session, d.why
    )
    SELECT coalesce(array_agg(concat_ws('.', 'lock_w', mailbox, no, lease) ORDER BY no) FILTER (WHERE lease IS NOT NULL), '{}'),
           coalesce(array_agg(why ORDER BY no) FILTER (WHERE lease IS NOT NULL), '{}'),
           coalesce(array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL), '{}')
    INTO stolen, because, sessions FROM gone;
END $$;


--
-- Name: taken_up_to(bigint, integer); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.taken_up_to(p_leaves_above bigint, p_made integer) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_leaves_above IS NULL THEN
        RETURN 9223372036854775807;
    END IF;
    RETURN greatest(p_leaves_above, (SELECT n.last_value FROM "abide".number AS n) + p_made - 1024);
END $$;


--
-- Name: tell(text, text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.tell(p_channel text, p_notices text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_notify(p_channel, n) FROM unnest(p_notices) AS n;
END $$;


--
-- Name: tree(text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.tree(p_roots text[]) RETURNS TABLE(no bigint, id text, status text)
    LANGUAGE plpgsql STABLE
    AS $$
#variable_conflict use_column
DECLARE
    v_seen text[] := p_roots;
    v_level text[] := p_roots;
BEGIN
    WHILE cardinality(v_level) > 0 LOOP
        RETURN QUERY SELECT i.no, i.id, i.status FROM unnest(v_level) WITH ORDINALITY AS n (id, place)
                     CROSS JOIN LATERAL (SELECT i.* FROM "abide".instance AS i WHERE i.id = n.id OFFSET 0) AS i
                     WHERE length(i.status) > 0 ORDER BY n.place;
        v_level := ARRAY(
            SELECT c.id FROM unnest(v_level) WITH ORDINALITY AS n (id, place)
            CROSS JOIN LATERAL (SELECT c.* FROM "abide".instance AS c WHERE c.parent = n.id AND length(c.status) > 0 OFFSET 0) AS c
            WHERE c.id NOT IN (SELECT unnest(v_seen)) ORDER BY n.place, c.created_at, c.no);
        v_seen := v_seen || v_level;
    END LOOP;
END $$;


--
-- Name: unborn(text[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.unborn(p_parents text[]) RETURNS TABLE(no bigint, mailbox bigint)
    LANGUAGE sql STABLE
    AS $$
    SELECT m.no, m.mailbox FROM "abide".message AS m WHERE m.parent = ANY (p_parents) AND m.parent IS NOT NULL
$$;


--
-- Name: unregister(bigint[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.unregister(p_made bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM "abide".mailbox AS b WHERE b.no = ANY (p_made) AND b.execution = 0
        AND NOT EXISTS (SELECT FROM "abide".message AS m WHERE m.mailbox = ANY (ARRAY[b.no]) AND m.place IS NOT NULL)
        AND NOT EXISTS (SELECT FROM "abide".message AS m WHERE m.mailbox = ANY (ARRAY[b.no]) AND m.visible_at IS NOT NULL)
        AND NOT EXISTS (SELECT FROM "abide".work AS w WHERE w.mailbox = ANY (ARRAY[b.no]));
    DELETE FROM "abide".instance AS i WHERE i.no = ANY (p_made)
        AND NOT EXISTS (SELECT FROM "abide".mailbox AS b WHERE b.no = ANY (ARRAY[i.no]));
END $$;


--
-- Name: use_sessions(text[], bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.use_sessions(p_sessions text[], p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE "abide".session SET last_active_at = p_now WHERE name = ANY (p_sessions) AND locked_until > p_now;
END $$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: mailbox; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.mailbox (
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    execution bigint DEFAULT 0 NOT NULL,
    last_event bigint DEFAULT 0 NOT NULL,
    status text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    pin text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    updated_at bigint DEFAULT 0 NOT NULL,
    unbroken bigint DEFAULT 1 NOT NULL,
    lease bigint,
    leased_until bigint,
    batch_to bigint,
    batch_first bigint,
    ready bigint,
    due_at bigint
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');


--
-- Name: verdict(abide.new_turn, abide.mailbox, bigint, bigint, bigint, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.verdict(p_turn abide.new_turn, p_box abide.mailbox, p_work_lease bigint, p_work_until bigint, p_work_of bigint, p_now bigint) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN p_turn.authority = 'lease' AND (p_box.lease = p_turn.nonce AND p_box.leased_until > p_now) IS NOT TRUE THEN 'lost'
        WHEN p_turn.authority = 'work' AND (p_work_lease = p_turn.nonce AND p_work_until > p_now AND p_work_of = p_box.no) IS NOT TRUE
            THEN 'lost'
        WHEN p_box.id <> p_turn.instance THEN 'invalid'
        WHEN p_turn.authority = 'work' AND p_box.leased_until > p_now THEN 'leased'
        WHEN p_turn.authority = 'work' AND (p_box.no, p_box.execution, p_box.last_event)
             <> (p_turn.expected_mailbox, p_turn.expected_execution, p_turn.expected_event) THEN 'moved'
        WHEN p_turn.authority = 'work' AND CASE WHEN p_box.lease IS NULL AND p_box.execution > 0
                                                THEN p_box.ready IS NOT NULL OR p_box.due_at <= p_now
                                                ELSE "abide".has_mail(p_box.no, p_now) END THEN 'mail'
        WHEN p_turn.execution < p_box.execution THEN 'over ' || p_box.execution
        WHEN p_turn.execution = p_box.execution AND p_turn.first_event <= p_box.last_event THEN 'taken ' || p_box.last_event
        ELSE 'ok'
    END
$$;


--
-- Name: work_come_due(bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.work_come_due(p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT w.no FROM "abide".work AS w WHERE w.due_at <= p_now
                            ORDER BY w.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
    v_sessions text[];
BEGIN
    IF cardinality(v_due) > 0 THEN
        WITH shown AS (
            UPDATE "abide".work SET due_at = NULL, lease = NULL, leased_until = NULL WHERE no = ANY (v_due) RETURNING session
        )
        SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL) INTO v_sessions FROM shown;
        IF v_sessions IS NOT NULL THEN
            PERFORM "abide".hold_sessions(v_sessions);
            PERFORM "abide".settle_lanes(v_sessions, NULL, p_now);
        END IF;
    END IF;
END $$;


--
-- Name: write_executions(abide.new_turn[], bigint[], boolean, boolean, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.write_executions(p_turns abide.new_turn[], p_mailboxes bigint[], p_begins boolean, p_alters boolean, p_now bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE "abide".instance AS i
    SET name = coalesce(t.name, i.name),
        version = coalesce(t.version, i.version),
        parent = coalesce(i.parent, t.parent),
        parent_execution = CASE WHEN i.parent IS NULL THEN t.parent_execution ELSE i.parent_execution END,
        parent_event = CASE WHEN i.parent IS NULL THEN t.parent_event ELSE i.parent_event END,
        status = CASE WHEN t.status IS NOT NULL THEN t.status WHEN t.execution > b.execution THEN 'Running' ELSE i.status END,
        completed_at = CASE WHEN t.status IN ('Completed', 'Failed') THEN p_now
                            WHEN t.status IS NOT NULL OR t.execution > b.execution THEN NULL
                            ELSE i.completed_at END,
        has_past = t.execution > 1,
        created_at = CASE WHEN b.execution = 0 THEN p_now ELSE i.created_at END,
        custom_status = CASE WHEN t.sets_custom_status THEN t.custom_status ELSE i.custom_status END,
        custom_status_version = i.custom_status_version + t.sets_custom_status::integer
    FROM unnest(p_turns) AS t, "abide".mailbox AS b
    WHERE b.no = ANY (ARRAY[p_mailboxes[t.turn]]) AND i.no = ANY (ARRAY[b.no])
      AND (t.execution > b.execution OR t.sets_custom_status OR t.status IS NOT NULL OR t.name IS NOT NULL
           OR t.version IS NOT NULL OR t.parent IS NOT NULL);

    IF p_begins THEN
        INSERT INTO "abide".execution (mailbox, no, status, output, pin, started_at, completed_at)
        SELECT b.no, t.execution, coalesce(t.status, 'Running'), CASE WHEN t.status IS NOT NULL THEN t.output END, coalesce(t.pin, ''),
               p_now, CASE WHEN t.status <> 'Running' THEN p_now END
        FROM unnest(p_turns) AS t JOIN "abide".mailbox AS b ON b.no = ANY (ARRAY[p_mailboxes[t.turn]])
        WHERE t.execution > b.execution;
    END IF;
    IF p_alters THEN
        UPDATE "abide".execution AS e
        SET pin = coalesce(t.pin, e.pin), status = coalesce(t.status, e.status),
            output = CASE WHEN t.status IS NULL THEN e.output ELSE t.output END,
            completed_at = CASE WHEN t.status IS NULL THEN e.completed_at WHEN t.status <> 'Running' THEN p_now END
        FROM unnest(p_turns) AS t JOIN "abide".mailbox AS b ON b.no = ANY (ARRAY[p_mailboxes[t.turn]])
        WHERE e.mailbox = ANY (ARRAY[b.no]) AND e.no = t.execution AND t.execution = b.execution
          AND (t.pin IS NOT NULL OR t.status IS NOT NULL);
    END IF;
END $$;


--
-- Name: write_kv(abide.new_turn[], bigint[]); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.write_kv(p_turns abide.new_turn[], p_mailboxes bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_turn "abide".new_turn;
    v_mailbox bigint;
BEGIN
    FOREACH v_turn IN ARRAY p_turns LOOP
        v_mailbox := p_mailboxes[v_turn.turn];
        CONTINUE WHEN v_mailbox IS NULL;
        IF v_turn.clears_kv THEN
            INSERT INTO "abide".kv_delta (mailbox, key, updated_at)
            SELECT mailbox, key, 0 FROM "abide".kv_store WHERE mailbox = v_mailbox
            UNION SELECT mailbox, key, 0 FROM "abide".kv_delta WHERE mailbox = v_mailbox
            ON CONFLICT (mailbox, key) DO UPDATE SET value = NULL, updated_at = 0;
        END IF;
        IF cardinality(v_turn.changes) > 0 THEN
            INSERT INTO "abide".kv_delta (mailbox, key, value, updated_at)
            SELECT v_mailbox, c.key, c.value, c.updated_at FROM unnest(v_turn.changes) AS c
            ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
        END IF;
        IF v_turn.folds_kv AND EXISTS (SELECT FROM "abide".kv_delta AS d WHERE d.mailbox = v_mailbox) THEN
            DELETE FROM "abide".kv_store AS k USING "abide".kv_delta AS d
            WHERE d.mailbox = v_mailbox AND d.value IS NULL AND k.mailbox = v_mailbox AND k.key = ANY (ARRAY[d.key]);
            INSERT INTO "abide".kv_store (mailbox, key, value, updated_at)
            SELECT d.mailbox, d.key, d.value, d.updated_at FROM "abide".kv_delta AS d
            WHERE d.mailbox = v_mailbox AND d.value IS NOT NULL
            ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
            DELETE FROM "abide".kv_delta WHERE mailbox = v_mailbox;
        END IF;
    END LOOP;
END $$;


--
-- Name: write_work(abide.new_work[], bigint[], bigint, abide.work_offer, bigint); Type: FUNCTION; Schema: abide; Owner: -
--

CREATE FUNCTION abide.write_work(p_work abide.new_work[], p_mailboxes bigint[], p_maker bigint, p_offer abide.work_offer, p_now bigint, OUT tags text[], OUT sessions text[], OUT session_tags text[], OUT leases abide.work_lease[], OUT last bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    v_until bigint := "abide".later(p_now, p_offer.lease_ms);
    v_nonces bigint[] := p_offer.nonces;
    v_older bigint[] := '{}';
    v_one "abide".new_work;    v_mailbox bigint;    v_lease bigint;
    v_id text;    v_name text;    v_version text;
BEGIN
    IF cardinality(v_nonces) > 0 THEN
        v_older := "abide".older_work(p_offer, cardinality(p_work));
    END IF;
    IF cardinality(v_older) > 0 THEN
        leases := "abide".grant_work(v_older, v_nonces, v_until);
        -- What is new waits behind those that were too much.
        v_nonces := CASE WHEN cardinality(leases) = cardinality(v_older) THEN v_nonces[cardinality(v_older) + 1:] ELSE '{}' END;
    END IF;
    IF cardinality(p_work) = 1 AND p_work[1].instance IS NULL AND p_work[1].session IS NULL THEN
        v_one := p_work[1];    v_mailbox := p_mailboxes[v_one.turn];    v_lease := v_nonces[v_one.rank];
        INSERT INTO "abide".work (mailbox, execution, activity, tag, maker, attempts, lease, leased_until, due_at, item)
        VALUES (v_mailbox, v_one.execution, v_one.activity, v_one.tag, p_maker, (v_lease IS NOT NULL)::integer, v_lease,
                CASE WHEN v_lease IS NOT NULL THEN v_until END, CASE WHEN v_lease IS NOT NULL THEN v_until END, v_one.item)
        RETURNING no INTO last;
        sessions := '{}';    session_tags := '{}';    tags := '{}';
        IF v_lease IS NULL THEN
            tags := ARRAY[v_one.tag];
        ELSE
            SELECT i.id, i.name, CASE WHEN i.status <> '' THEN i.version ELSE '' END INTO v_id, v_name, v_version
            FROM "abide".instance AS i WHERE i.no = v_mailbox;
            leases := leases || ROW (last, v_mailbox, v_lease, 1, v_id, v_one.execution, v_one.activity, v_name, v_version, v_one.item,
                                     NULL, NULL, NULL, NULL, NULL)::"abide".work_lease;
        END IF;
        RETURN;
    END IF;
    WITH queued AS (
        INSERT INTO "abide".work (mailbox, execution, activity, session, tag, maker, attempts, lease, leased_until, due_at, item)
        SELECT CASE WHEN w.instance IS NULL THEN p_mailboxes[w.turn]
                    ELSE (SELECT i.no FROM "abide".instance AS i WHERE i.id = w.instance) END,
               w.execution, w.activity, w.session, w.tag, p_maker, (v_nonces[w.rank] IS NOT NULL)::integer, v_nonces[w.rank],
               CASE WHEN v_nonces[w.rank] IS NOT NULL THEN v_until END, CASE WHEN v_nonces[w.rank] IS NOT NULL THEN v_until END, w.item
        FROM unnest(p_work) AS w
        RETURNING no, mailbox, execution, activity, session, tag, lease, item
    )
    SELECT coalesce(array_agg(DISTINCT q.tag) FILTER (WHERE q.lease IS NULL), '{}'),
           coalesce(array_agg(q.session) FILTER (WHERE q.session IS NOT NULL), '{}'),
           coalesce(array_agg(q.tag) FILTER (WHERE q.session IS NOT NULL), '{}'),
           leases || array_agg(ROW (q.no, q.mailbox, q.lease, 1, i.id, q.execution, q.activity, i.name,
                                    CASE WHEN i.status <> '' THEN i.version ELSE '' END, q.item, NULL, NULL, NULL, NULL, NULL)
                                   ::"abide".work_lease ORDER BY q.no) FILTER (WHERE q.lease IS NOT NULL),
           max(q.no)
    INTO tags, sessions, session_tags, leases, last
    FROM queued AS q LEFT JOIN "abide".instance AS i ON q.lease IS NOT NULL AND i.no = ANY (ARRAY[q.mailbox]);
END $$;


--
-- Name: dead_letter; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.dead_letter (
    no bigint NOT NULL,
    queue text NOT NULL,
    instance text NOT NULL COLLATE pg_catalog."C",
    attempts integer NOT NULL,
    dead_at bigint NOT NULL,
    item text NOT NULL
);


--
-- Name: execution; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.execution (
    mailbox bigint NOT NULL,
    no bigint NOT NULL,
    status text DEFAULT 'Running'::text NOT NULL COLLATE pg_catalog."C",
    output text,
    pin text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    started_at bigint NOT NULL,
    completed_at bigint
);


--
-- Name: instance; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.instance (
    no bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    name text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    version text DEFAULT 'unknown'::text NOT NULL COLLATE pg_catalog."C",
    status text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    parent text COLLATE pg_catalog."C",
    parent_execution bigint,
    parent_event bigint,
    is_root boolean GENERATED ALWAYS AS ((parent IS NULL)) STORED,
    custom_status text,
    custom_status_version bigint DEFAULT 0 NOT NULL,
    created_at bigint DEFAULT 0 NOT NULL,
    completed_at bigint,
    has_past boolean DEFAULT false NOT NULL
)
WITH (fillfactor='80');


--
-- Name: kv_delta; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.kv_delta (
    mailbox bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value text,
    updated_at bigint NOT NULL
);


--
-- Name: kv_store; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.kv_store (
    mailbox bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    updated_at bigint NOT NULL
);


--
-- Name: lane; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.lane (
    session text NOT NULL COLLATE pg_catalog."C",
    tag text NOT NULL COLLATE pg_catalog."C",
    head bigint,
    holder text COLLATE pg_catalog."C",
    held_until bigint
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');


--
-- Name: mailbox_number; Type: SEQUENCE; Schema: abide; Owner: -
--

CREATE SEQUENCE abide.mailbox_number
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: number; Type: SEQUENCE; Schema: abide; Owner: -
--

CREATE SEQUENCE abide.number
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: message; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.message (
    no bigint DEFAULT nextval('abide.number'::regclass) NOT NULL,
    mailbox bigint NOT NULL,
    class smallint NOT NULL,
    visible_at bigint,
    place bigint GENERATED ALWAYS AS (
CASE
    WHEN (visible_at IS NULL) THEN no
    ELSE NULL::bigint
END) STORED,
    execution bigint,
    event bigint,
    parent text COLLATE pg_catalog."C",
    attempts integer DEFAULT 0 NOT NULL,
    item text NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.02');


--
-- Name: migration; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.migration (
    number bigint NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: request; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.request (
    key bytea NOT NULL,
    seen_at bigint NOT NULL
);


--
-- Name: session; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.session (
    name text NOT NULL COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C",
    locked_until bigint,
    last_active_at bigint,
    claims bigint DEFAULT 0 NOT NULL
);


--
-- Name: turn; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.turn (
    mailbox bigint NOT NULL,
    execution bigint NOT NULL,
    first_event bigint NOT NULL,
    last_event bigint NOT NULL,
    length bigint NOT NULL,
    events text NOT NULL
);


--
-- Name: work; Type: TABLE; Schema: abide; Owner: -
--

CREATE TABLE abide.work (
    no bigint DEFAULT nextval('abide.number'::regclass) NOT NULL,
    mailbox bigint NOT NULL,
    execution bigint NOT NULL,
    activity bigint NOT NULL,
    tag text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    session text COLLATE pg_catalog."C",
    maker bigint,
    attempts integer DEFAULT 0 NOT NULL,
    lease bigint,
    leased_until bigint,
    due_at bigint,
    place bigint GENERATED ALWAYS AS (
CASE
    WHEN (due_at IS NULL) THEN no
    ELSE NULL::bigint
END) STORED,
    item text NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02');


--
-- Data for Name: dead_letter; Type: TABLE DATA; Schema: abide; Owner: -
--



--
-- Data for Name: execution; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.execution VALUES
	(7, 1, 'Completed', 'did books', '0.2.0', 1694981158366, 1694981158378),
	(8, 1, 'Failed', 'ink is out of stock', '0.2.0', 1694981158401, 1694981158401),
	(9, 1, 'ContinuedAsNew', '2', '0.2.0', 1694981158436, 1694981158436),
	(9, 2, 'ContinuedAsNew', '3', '0.2.0', 1694981158460, 1694981158460),
	(9, 3, 'Completed', '123', '0.2.0', 1694981158465, 1694981158465),
	(10, 1, 'Running', NULL, '0.2.0', 1694981158501, NULL),
	(11, 1, 'Running', NULL, '0.2.0', 1694981158506, NULL),
	(12, 1, 'Running', NULL, '0.2.0', 1694981158510, NULL),
	(13, 1, 'Running', NULL, '0.2.0', 1694981158512, NULL),
	(14, 1, 'Running', NULL, '0.2.0', 1694981158515, NULL),
	(15, 1, 'Running', NULL, '0.2.0', 1694981158545, NULL),
	(16, 1, 'Running', NULL, '0.2.0', 1694981158548, NULL),
	(17, 1, 'Running', NULL, '0.2.0', 1694981158566, NULL),
	(18, 1, 'Running', NULL, '0.2.0', 1694981158577, NULL),
	(19, 1, 'Running', NULL, '0.2.0', 1694981158581, NULL),
	(20, 1, 'Running', NULL, '0.2.0', 1694981158584, NULL);


--
-- Data for Name: instance; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.instance VALUES
	(7, 'done-1', 'Done', '1.0.0', 'Completed', NULL, NULL, NULL, DEFAULT, 'nearly there', 1, 1694981158366, 1694981158378, false),
	(8, 'failed-1', 'Fails', '1.0.0', 'Failed', NULL, NULL, NULL, DEFAULT, NULL, 0, 1694981158401, 1694981158401, false),
	(9, 'counted-1', 'Counts', '1.0.0', 'Completed', NULL, NULL, NULL, DEFAULT, NULL, 0, 1694981158436, 1694981158465, true),
	(10, 'signal-1', 'Signal', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'waits for go', 1, 1694981158501, NULL, false),
	(11, 'signal-2', 'Signal', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'waits for go', 1, 1694981158506, NULL, false),
	(12, 'far-1', 'Sleeps', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'sleeps', 1, 1694981158510, NULL, false),
	(13, 'leased-1', 'Works', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'works', 1, 1694981158512, NULL, false),
	(14, 'session-1', 'Session', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'has a session', 1, 1694981158515, NULL, false),
	(15, 'parent-1', 'Parent', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, NULL, 0, 1694981158545, NULL, false),
	(16, 'parent-1-child', 'Signal', '1.0.0', 'Running', 'parent-1', 1, 2, DEFAULT, 'waits for go', 1, 1694981158548, NULL, false),
	(17, 'queue-1', 'Queue', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'took 1', 1, 1694981158566, NULL, false),
	(18, 'work-1', 'Works', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'works', 1, 1694981158577, NULL, false),
	(19, 'tagged-1', 'Works', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'works', 1, 1694981158581, NULL, false),
	(20, 'sleep-1', 'Sleeps', '1.0.0', 'Running', NULL, NULL, NULL, DEFAULT, 'sleeps', 1, 1694981158584, NULL, false),
	(21, 'fresh-1', '', 'unknown', '', NULL, NULL, NULL, DEFAULT, NULL, 0, 0, NULL, false);


--
-- Data for Name: kv_delta; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.kv_delta VALUES
	(10, 'input', 'pens', 1694981158472),
	(11, 'input', 'paper', 1694981158506),
	(16, 'input', 'maps', 1694981158546);


--
-- Data for Name: kv_store; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.kv_store VALUES
	(7, 'last', 'books', 1694981158350),
	(9, 'rounds', '123', 1694981158464);


--
-- Data for Name: lane; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.lane VALUES
	('desk', '', 37, 'eb847483fdbbdbb01113f79a6d618880', 1694981188538);


--
-- Data for Name: mailbox; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.mailbox VALUES
	(11, 'signal-2', 1, 4, 'Running', '0.2.0', 1694981158506, 1, 1549730760779124480, 1694981758590, 48, NULL, NULL, 1694981758590),
	(7, 'done-1', 1, 6, 'Completed', '0.2.0', 1694981158378, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(8, 'failed-1', 1, 2, 'Failed', '0.2.0', 1694981158401, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(9, 'counted-1', 3, 3, 'Completed', '0.2.0', 1694981158465, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(10, 'signal-1', 1, 4, 'Running', '0.2.0', 1694981158501, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(12, 'far-1', 1, 3, 'Running', '0.2.0', 1694981158510, 1, NULL, NULL, NULL, NULL, NULL, 4794981158510),
	(13, 'leased-1', 1, 3, 'Running', '0.2.0', 1694981158512, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(14, 'session-1', 1, 5, 'Running', '0.2.0', 1694981158533, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(15, 'parent-1', 1, 2, 'Running', '0.2.0', 1694981158545, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(16, 'parent-1-child', 1, 4, 'Running', '0.2.0', 1694981158548, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(18, 'work-1', 1, 3, 'Running', '0.2.0', 1694981158577, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(19, 'tagged-1', 1, 3, 'Running', '0.2.0', 1694981158581, 1, NULL, NULL, NULL, NULL, NULL, NULL),
	(20, 'sleep-1', 1, 3, 'Running', '0.2.0', 1694981158584, 1, NULL, NULL, NULL, NULL, NULL, 1694981163585),
	(17, 'queue-1', 1, 5, 'Running', '0.2.0', 1694981158569, 1, NULL, NULL, NULL, NULL, 49, NULL),
	(21, 'fresh-1', 0, 0, '', '', 0, 1, NULL, NULL, NULL, NULL, 50, NULL);


--
-- Data for Name: message; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.message VALUES
	(32, 12, 4, 4794981158510, DEFAULT, 1, 3, NULL, 0, '{"TimerFired":{"instance":"far-1","execution_id":1,"id":3,"fire_at_ms":4794981158509}}'),
	(47, 20, 4, 1694981163585, DEFAULT, 1, 3, NULL, 0, '{"TimerFired":{"instance":"sleep-1","execution_id":1,"id":3,"fire_at_ms":1694981163584}}'),
	(48, 11, 0, NULL, DEFAULT, NULL, NULL, NULL, 0, '{"ExternalRaised":{"instance":"signal-2","name":"go","data":"a green light"}}'),
	(49, 17, 3, NULL, DEFAULT, NULL, NULL, NULL, 0, '{"QueueMessage":{"instance":"queue-1","name":"orders","data":"two"}}'),
	(50, 21, 1, NULL, DEFAULT, NULL, NULL, NULL, 0, '{"StartOrchestration":{"instance":"fresh-1","orchestration":"Done","input":"clocks","version":null,"parent_instance":null,"parent_id":null,"execution_id":1}}');


--
-- Data for Name: migration; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.migration VALUES
	(1, '2026-11-18 05:52:37.860606+00');


--
-- Data for Name: request; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.request VALUES
	('\xb93877e283ff73a4c3bd29ba89f4c1fc', 1694981158341),
	('\x43cf57ffcb8b511348f271e4172db29f', 1694981158385),
	('\xbd5362df756b96bff1c9df3bc82ec64a', 1694981158428),
	('\x79409f7ce102c830041bec22d2d6b8ac', 1694981158467),
	('\x552b0776d419fccc6274d849eaab773a', 1694981158504),
	('\x9a1586bf4b7db4e307462c881b49ea42', 1694981158508),
	('\x9da82ed254cbe310f505b815ee1b5c2c', 1694981158511),
	('\x85d6d77eff031ae3a22f9c29a080e5e3', 1694981158514),
	('\xf41c15f7b3d6fa2613d8ed2b202f1eef', 1694981158542),
	('\xc6b0ef4e558c144e5634ddd283aed869', 1694981158556),
	('\xb75e4014f0cd60558467106f402cbd07', 1694981158565),
	('\xfe0ea99b5b0d59cdde05190588074e0e', 1694981158575),
	('\xde61a511b263c7321c3aaf1b814f8d22', 1694981158580),
	('\x68d59bf5c83e0e0bd101fe39251eb543', 1694981158583),
	('\xe77b600ec6cf8d047bda0465c6f26ec0', 1694981158587),
	('\xc2b6bbf4d3f835a1e4d5a7d1f8b83a76', 1694981158588),
	('\xd7a5401020d6e9a1ecafa14e538f84c0', 1694981158589);


--
-- Data for Name: session; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.session VALUES
	('desk', 'eb847483fdbbdbb01113f79a6d618880', 1694981188538, 1694981158538, 2);


--
-- Data for Name: turn; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.turn VALUES
	(7, 1, 1, 4, 4, '[{"event_id":1,"source_event_id":null,"instance_id":"done-1","execution_id":1,"timestamp_ms":1694981158350,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Done","version":"1.0.0","input":"books","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"done-1","execution_id":1,"timestamp_ms":1694981158350,"duroxide_version":"0.2.0","type":"KeyValueSet","key":"last","value":"books","last_updated_at_ms":1694981158350},{"event_id":3,"source_event_id":null,"instance_id":"done-1","execution_id":1,"timestamp_ms":1694981158350,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"nearly there"},{"event_id":4,"source_event_id":null,"instance_id":"done-1","execution_id":1,"timestamp_ms":1694981158350,"duroxide_version":"0.2.0","type":"ActivityScheduled","name":"Work","input":"books"}]'),
	(7, 1, 5, 6, 2, '[{"event_id":5,"source_event_id":4,"instance_id":"done-1","execution_id":1,"timestamp_ms":1694981158367,"duroxide_version":"0.2.0","type":"ActivityCompleted","result":"did books"},{"event_id":6,"source_event_id":null,"instance_id":"done-1","execution_id":1,"timestamp_ms":1694981158367,"duroxide_version":"0.2.0","type":"OrchestrationCompleted","output":"did books"}]'),
	(8, 1, 1, 2, 2, '[{"event_id":1,"source_event_id":null,"instance_id":"failed-1","execution_id":1,"timestamp_ms":1694981158386,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Fails","version":"1.0.0","input":"ink","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"failed-1","execution_id":1,"timestamp_ms":1694981158386,"duroxide_version":"0.2.0","type":"OrchestrationFailed","details":{"Application":{"kind":"OrchestrationFailed","message":"ink is out of stock","retryable":false}}}]'),
	(9, 1, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"counted-1","execution_id":1,"timestamp_ms":1694981158430,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Counts","version":"1.0.0","input":"1","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"counted-1","execution_id":1,"timestamp_ms":1694981158430,"duroxide_version":"0.2.0","type":"KeyValueSet","key":"rounds","value":"1","last_updated_at_ms":1694981158430},{"event_id":3,"source_event_id":null,"instance_id":"counted-1","execution_id":1,"timestamp_ms":1694981158430,"duroxide_version":"0.2.0","type":"OrchestrationContinuedAsNew","input":"2"}]'),
	(9, 2, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"counted-1","execution_id":2,"timestamp_ms":1694981158459,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Counts","version":"1.0.0","input":"2","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"counted-1","execution_id":2,"timestamp_ms":1694981158459,"duroxide_version":"0.2.0","type":"KeyValueSet","key":"rounds","value":"12","last_updated_at_ms":1694981158459},{"event_id":3,"source_event_id":null,"instance_id":"counted-1","execution_id":2,"timestamp_ms":1694981158459,"duroxide_version":"0.2.0","type":"OrchestrationContinuedAsNew","input":"3"}]'),
	(9, 3, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"counted-1","execution_id":3,"timestamp_ms":1694981158464,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Counts","version":"1.0.0","input":"3","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"counted-1","execution_id":3,"timestamp_ms":1694981158464,"duroxide_version":"0.2.0","type":"KeyValueSet","key":"rounds","value":"123","last_updated_at_ms":1694981158464},{"event_id":3,"source_event_id":null,"instance_id":"counted-1","execution_id":3,"timestamp_ms":1694981158464,"duroxide_version":"0.2.0","type":"OrchestrationCompleted","output":"123"}]'),
	(10, 1, 1, 4, 4, '[{"event_id":1,"source_event_id":null,"instance_id":"signal-1","execution_id":1,"timestamp_ms":1694981158472,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Signal","version":"1.0.0","input":"pens","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"signal-1","execution_id":1,"timestamp_ms":1694981158472,"duroxide_version":"0.2.0","type":"KeyValueSet","key":"input","value":"pens","last_updated_at_ms":1694981158472},{"event_id":3,"source_event_id":null,"instance_id":"signal-1","execution_id":1,"timestamp_ms":1694981158472,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"waits for go"},{"event_id":4,"source_event_id":null,"instance_id":"signal-1","execution_id":1,"timestamp_ms":1694981158472,"duroxide_version":"0.2.0","type":"ExternalSubscribed","name":"go"}]'),
	(11, 1, 1, 4, 4, '[{"event_id":1,"source_event_id":null,"instance_id":"signal-2","execution_id":1,"timestamp_ms":1694981158506,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Signal","version":"1.0.0","input":"paper","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"signal-2","execution_id":1,"timestamp_ms":1694981158506,"duroxide_version":"0.2.0","type":"KeyValueSet","key":"input","value":"paper","last_updated_at_ms":1694981158506},{"event_id":3,"source_event_id":null,"instance_id":"signal-2","execution_id":1,"timestamp_ms":1694981158506,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"waits for go"},{"event_id":4,"source_event_id":null,"instance_id":"signal-2","execution_id":1,"timestamp_ms":1694981158506,"duroxide_version":"0.2.0","type":"ExternalSubscribed","name":"go"}]'),
	(12, 1, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"far-1","execution_id":1,"timestamp_ms":1694981158509,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Sleeps","version":"1.0.0","input":"3000000000","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"far-1","execution_id":1,"timestamp_ms":1694981158509,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"sleeps"},{"event_id":3,"source_event_id":null,"instance_id":"far-1","execution_id":1,"timestamp_ms":1694981158509,"duroxide_version":"0.2.0","type":"TimerCreated","fire_at_ms":4794981158509}]'),
	(13, 1, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"leased-1","execution_id":1,"timestamp_ms":1694981158512,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Works","version":"1.0.0","input":"wait for leased","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"leased-1","execution_id":1,"timestamp_ms":1694981158512,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"works"},{"event_id":3,"source_event_id":null,"instance_id":"leased-1","execution_id":1,"timestamp_ms":1694981158512,"duroxide_version":"0.2.0","type":"ActivityScheduled","name":"Work","input":"wait for leased"}]'),
	(14, 1, 1, 2, 2, '[{"event_id":1,"source_event_id":null,"instance_id":"session-1","execution_id":1,"timestamp_ms":1694981158515,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Session","version":"1.0.0","input":"chairs","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"session-1","execution_id":1,"timestamp_ms":1694981158515,"duroxide_version":"0.2.0","type":"ActivityScheduled","name":"Work","input":"open chairs","session_id":"desk"}]'),
	(17, 1, 1, 2, 2, '[{"event_id":1,"source_event_id":null,"instance_id":"queue-1","execution_id":1,"timestamp_ms":1694981158560,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Queue","version":"1.0.0","input":"","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"queue-1","execution_id":1,"timestamp_ms":1694981158560,"duroxide_version":"0.2.0","type":"ExternalSubscribedPersistent","name":"orders"}]'),
	(17, 1, 3, 5, 3, '[{"event_id":3,"source_event_id":null,"instance_id":"queue-1","execution_id":1,"timestamp_ms":1694981158567,"duroxide_version":"0.2.0","type":"ExternalEventPersistent","name":"orders","data":"one"},{"event_id":4,"source_event_id":null,"instance_id":"queue-1","execution_id":1,"timestamp_ms":1694981158567,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"took 1"},{"event_id":5,"source_event_id":null,"instance_id":"queue-1","execution_id":1,"timestamp_ms":1694981158567,"duroxide_version":"0.2.0","type":"ExternalSubscribedPersistent","name":"orders"}]'),
	(19, 1, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"tagged-1","execution_id":1,"timestamp_ms":1694981158581,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Works","version":"1.0.0","input":"tagged desks","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"tagged-1","execution_id":1,"timestamp_ms":1694981158581,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"works"},{"event_id":3,"source_event_id":null,"instance_id":"tagged-1","execution_id":1,"timestamp_ms":1694981158581,"duroxide_version":"0.2.0","type":"ActivityScheduled","name":"Work","input":"desks","tag":"gpu"}]'),
	(20, 1, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"sleep-1","execution_id":1,"timestamp_ms":1694981158584,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Sleeps","version":"1.0.0","input":"5","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"sleep-1","execution_id":1,"timestamp_ms":1694981158584,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"sleeps"},{"event_id":3,"source_event_id":null,"instance_id":"sleep-1","execution_id":1,"timestamp_ms":1694981158584,"duroxide_version":"0.2.0","type":"TimerCreated","fire_at_ms":1694981163584}]'),
	(14, 1, 3, 5, 3, '[{"event_id":3,"source_event_id":2,"instance_id":"session-1","execution_id":1,"timestamp_ms":1694981158531,"duroxide_version":"0.2.0","type":"ActivityCompleted","result":"did open chairs"},{"event_id":4,"source_event_id":null,"instance_id":"session-1","execution_id":1,"timestamp_ms":1694981158531,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"has a session"},{"event_id":5,"source_event_id":null,"instance_id":"session-1","execution_id":1,"timestamp_ms":1694981158531,"duroxide_version":"0.2.0","type":"ActivityScheduled","name":"Work","input":"wait chairs","session_id":"desk"}]'),
	(15, 1, 1, 2, 2, '[{"event_id":1,"source_event_id":null,"instance_id":"parent-1","execution_id":1,"timestamp_ms":1694981158544,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Parent","version":"1.0.0","input":"maps","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"parent-1","execution_id":1,"timestamp_ms":1694981158544,"duroxide_version":"0.2.0","type":"SubOrchestrationScheduled","name":"Signal","instance":"parent-1-child","input":"maps"}]'),
	(16, 1, 1, 4, 4, '[{"event_id":1,"source_event_id":null,"instance_id":"parent-1-child","execution_id":1,"timestamp_ms":1694981158546,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Signal","version":"1.0.0","input":"maps","parent_instance":"parent-1","parent_id":2,"parent_execution_id":1},{"event_id":2,"source_event_id":null,"instance_id":"parent-1-child","execution_id":1,"timestamp_ms":1694981158546,"duroxide_version":"0.2.0","type":"KeyValueSet","key":"input","value":"maps","last_updated_at_ms":1694981158546},{"event_id":3,"source_event_id":null,"instance_id":"parent-1-child","execution_id":1,"timestamp_ms":1694981158546,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"waits for go"},{"event_id":4,"source_event_id":null,"instance_id":"parent-1-child","execution_id":1,"timestamp_ms":1694981158546,"duroxide_version":"0.2.0","type":"ExternalSubscribed","name":"go"}]'),
	(18, 1, 1, 3, 3, '[{"event_id":1,"source_event_id":null,"instance_id":"work-1","execution_id":1,"timestamp_ms":1694981158576,"duroxide_version":"0.2.0","type":"OrchestrationStarted","name":"Works","version":"1.0.0","input":"lamps","parent_instance":null,"parent_id":null},{"event_id":2,"source_event_id":null,"instance_id":"work-1","execution_id":1,"timestamp_ms":1694981158576,"duroxide_version":"0.2.0","type":"CustomStatusUpdated","status":"works"},{"event_id":3,"source_event_id":null,"instance_id":"work-1","execution_id":1,"timestamp_ms":1694981158576,"duroxide_version":"0.2.0","type":"ActivityScheduled","name":"Work","input":"lamps"}]');


--
-- Data for Name: work; Type: TABLE DATA; Schema: abide; Owner: -
--

INSERT INTO abide.work VALUES
	(37, 14, 1, 5, '', 'desk', 3676619831245456794, 0, NULL, NULL, NULL, DEFAULT, '{"ActivityExecute":{"instance":"session-1","execution_id":1,"id":5,"name":"Work","input":"wait chairs","session_id":"desk"}}'),
	(45, 19, 1, 3, '=gpu', NULL, 3676619831245456794, 0, NULL, NULL, NULL, DEFAULT, '{"ActivityExecute":{"instance":"tagged-1","execution_id":1,"id":3,"name":"Work","input":"desks","tag":"gpu"}}'),
	(34, 13, 1, 3, '', NULL, 3676619831245456794, 1, 75105513892126085, 1694981758586, 1694981758586, DEFAULT, '{"ActivityExecute":{"instance":"leased-1","execution_id":1,"id":3,"name":"Work","input":"wait for leased"}}'),
	(43, 18, 1, 3, '', NULL, 3676619831245456794, 1, 5129275824259166679, 1694981758586, 1694981758586, DEFAULT, '{"ActivityExecute":{"instance":"work-1","execution_id":1,"id":3,"name":"Work","input":"lamps"}}');


--
-- Name: mailbox_number; Type: SEQUENCE SET; Schema: abide; Owner: -
--

SELECT pg_catalog.setval('abide.mailbox_number', 21, true);


--
-- Name: number; Type: SEQUENCE SET; Schema: abide; Owner: -
--

SELECT pg_catalog.setval('abide.number', 50, true);


--
-- Name: dead_letter dead_letter_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (no);


--
-- Name: execution execution_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (mailbox, no);


--
-- Name: instance instance_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.instance
    ADD CONSTRAINT instance_pkey PRIMARY KEY (no);


--
-- Name: kv_delta kv_delta_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.kv_delta
    ADD CONSTRAINT kv_delta_pkey PRIMARY KEY (mailbox, key);


--
-- Name: kv_store kv_store_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.kv_store
    ADD CONSTRAINT kv_store_pkey PRIMARY KEY (mailbox, key);


--
-- Name: lane lane_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.lane
    ADD CONSTRAINT lane_pkey PRIMARY KEY (session, tag);


--
-- Name: mailbox mailbox_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.mailbox
    ADD CONSTRAINT mailbox_pkey PRIMARY KEY (no);


--
-- Name: message message_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.message
    ADD CONSTRAINT message_pkey PRIMARY KEY (no);


--
-- Name: migration migration_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (number);


--
-- Name: request request_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (key);


--
-- Name: session session_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (name);


--
-- Name: work work_pkey; Type: CONSTRAINT; Schema: abide; Owner: -
--

ALTER TABLE ONLY abide.work
    ADD CONSTRAINT work_pkey PRIMARY KEY (no);


--
-- Name: dead_letter_of; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX dead_letter_of ON abide.dead_letter USING btree (instance);


--
-- Name: execution_ended; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX execution_ended ON abide.execution USING btree (mailbox, completed_at) WHERE (completed_at IS NOT NULL);


--
-- Name: instance_ended_child; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX instance_ended_child ON abide.instance USING btree (completed_at, no) WHERE ((completed_at IS NOT NULL) AND (parent IS NOT NULL));


--
-- Name: instance_ended_root; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX instance_ended_root ON abide.instance USING btree (completed_at, no) WHERE ((completed_at IS NOT NULL) AND (parent IS NULL));


--
-- Name: instance_id; Type: INDEX; Schema: abide; Owner: -
--

CREATE UNIQUE INDEX instance_id ON abide.instance USING btree (id);


--
-- Name: instance_name; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX instance_name ON abide.instance USING btree (name, status, is_root, created_at, no) WHERE (status <> ''::text);


--
-- Name: instance_parent; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX instance_parent ON abide.instance USING btree (parent, created_at, no) WHERE (parent IS NOT NULL);


--
-- Name: instance_status; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX instance_status ON abide.instance USING btree (status, is_root, created_at, no) WHERE (status <> ''::text);


--
-- Name: instance_with_past; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX instance_with_past ON abide.instance USING btree (created_at, no) WHERE has_past;


--
-- Name: lane_due; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX lane_due ON abide.lane USING btree (held_until) WHERE ((head IS NOT NULL) AND (held_until IS NOT NULL));


--
-- Name: lane_free; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX lane_free ON abide.lane USING btree (tag, head) WHERE ((head IS NOT NULL) AND (holder IS NULL));


--
-- Name: lane_held; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX lane_held ON abide.lane USING btree (holder, tag, head) WHERE ((head IS NOT NULL) AND (holder IS NOT NULL));


--
-- Name: mailbox_due; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX mailbox_due ON abide.mailbox USING btree (due_at) WHERE (due_at IS NOT NULL);


--
-- Name: mailbox_ready; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX mailbox_ready ON abide.mailbox USING btree (pin, ready) WHERE (ready IS NOT NULL);


--
-- Name: message_child; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX message_child ON abide.message USING btree (parent) WHERE (parent IS NOT NULL);


--
-- Name: message_hidden; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX message_hidden ON abide.message USING btree (mailbox, visible_at) INCLUDE (class) WHERE (visible_at IS NOT NULL);


--
-- Name: message_start; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX message_start ON abide.message USING btree (mailbox, place) WHERE (class = ANY (ARRAY[1, 2]));


--
-- Name: message_timer; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX message_timer ON abide.message USING btree (mailbox, execution, event) WHERE (class = 4);


--
-- Name: message_visible; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX message_visible ON abide.message USING btree (mailbox, place) WHERE (place IS NOT NULL);


--
-- Name: request_seen; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX request_seen ON abide.request USING btree (seen_at);


--
-- Name: session_locked; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX session_locked ON abide.session USING btree (locked_until) WHERE (locked_until IS NOT NULL);


--
-- Name: session_owner; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX session_owner ON abide.session USING btree (owner) WHERE (owner IS NOT NULL);


--
-- Name: turn_of_execution; Type: INDEX; Schema: abide; Owner: -
--

CREATE UNIQUE INDEX turn_of_execution ON abide.turn USING btree (mailbox, execution, last_event) INCLUDE (length);


--
-- Name: work_due; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX work_due ON abide.work USING btree (due_at) WHERE (due_at IS NOT NULL);


--
-- Name: work_in_session; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX work_in_session ON abide.work USING btree (session, tag, place) WHERE (session IS NOT NULL);


--
-- Name: work_of_execution; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX work_of_execution ON abide.work USING btree (mailbox, execution, activity);


--
-- Name: work_ready; Type: INDEX; Schema: abide; Owner: -
--

CREATE INDEX work_ready ON abide.work USING btree (tag, place) WHERE ((place IS NOT NULL) AND (session IS NULL));


--
-- PostgreSQL database dump complete
--


