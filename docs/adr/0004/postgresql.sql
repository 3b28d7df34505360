-- Every write of the store contract as one function call on PostgreSQL 14 and newer (ADR 4).
--
-- A proof that can be run, and the draft of the provider's first migration; not yet the provider.
-- Run it on a throw-away server, with the exercise behind it:
--
--   cd docs/adr/0004
--   pg_virtualenv psql -X -v ON_ERROR_STOP=1 -f postgresql.sql -f exercise.sql
--
-- What holds everywhere:
--
-- * One call is one transaction at READ COMMITTED. Each statement of a PL/pgSQL function then has a snapshot of its
--   own, so what is read after a lock was taken is what the lock protects. Statements of an SQL function share one
--   snapshot, and are planned anew by every call: SQL functions are only for what PostgreSQL inlines.
-- * One lock order: request keys, mailboxes by id, work by id, sessions by name. Messages, histories, executions and
--   key-values are touched under the lock of their mailbox, lanes under the lock of their session, and need none of
--   their own. Fetches take locks with SKIP LOCKED first, and wait for sessions only. What never waits out of order
--   cannot be part of a deadlock.
-- * No foreign keys: they would lock rows in an order of their own.
-- * Each connection of the provider begins with
--
--     SET default_transaction_isolation = 'read committed';
--     SET plan_cache_mode = force_generic_plan;
--     SET enable_seqscan = off;  SET enable_hashjoin = off;  SET enable_mergejoin = off;  SET jit = off;
--
--   because planning anew for each call's arrays costs more than the call, and a plan that was made while the tables
--   were small, and is kept, must not scan or hash a table: only loops over indexes, beginning with the arguments. (JIT
--   is off because forbidden plans count as very expensive ones. As settings of each function they cost 0.2 ms a call.)
-- * The clock is read when the locks are held. What is judged by a time read before waiting is judged by an old time.
-- * Times are milliseconds since the epoch, because that is what histories hold.
-- * A token is the key of its row, and a nonce: '<mailbox>.<nonce>' or '<work>.<mailbox>.<nonce>'. The nonce is random.
--   From a sequence it could be handed out twice: leases are committed without waiting for the disk, and a crash takes
--   the sequence back together with the lease.

CREATE SCHEMA abide;

-- The store's clock. A test sets abide.now, and sleeps no more.
CREATE FUNCTION abide.now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(nullif(current_setting('abide.now', true), '')::bigint,
                    floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$$;

--------------------------------------------------------------------------------------------------------------- tables

-- One counter for messages and work. A message is numbered under its mailbox's lock: a number that is lower is older.
CREATE SEQUENCE abide.number;

-- A name, and what is known about it. Its id is the incarnation: never used again. Written when an instance starts or
-- changes its custom status, not by every turn.
CREATE TABLE abide.instance (
    id                    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                  text COLLATE "C" NOT NULL UNIQUE,
    orchestration         text NOT NULL DEFAULT '',
    version               text NOT NULL DEFAULT 'unknown',
    parent                text,
    parent_execution      bigint,
    parent_event          bigint,
    custom_status         text,
    custom_status_version bigint NOT NULL DEFAULT 0,
    created_at            bigint
);
CREATE INDEX instance_by_parent ON abide.instance (parent) WHERE parent IS NOT NULL;

-- Everything about an instance that a turn changes, in one narrow row: its position, its lease, and whether it can be
-- leased. This row is the lock of the instance. Its indexes are few, because changing "ready" or "due" writes to each.
CREATE TABLE abide.mailbox (
    id            bigint PRIMARY KEY,
    name          text NOT NULL,
    execution_id  bigint NOT NULL DEFAULT 0,    -- zero: not an instance yet
    last_event_id bigint NOT NULL DEFAULT 0,
    status        text CHECK (status IN ('Running', 'Completed', 'Failed', 'ContinuedAsNew')),
    pin           text COLLATE "C" NOT NULL DEFAULT '',    -- the version, spelt so that texts compare like versions
    updated_at    bigint,
    nonce         uuid,
    lease_until   bigint,
    leased_by     text,
    batch_to      bigint,    -- the lease handed out the visible messages up to here,
    batch_first   bigint,    -- and this one, which starts an execution
    ready         bigint,    -- the lowest visible message, while this can be leased
    due           bigint     -- when that may change: the end of the lease, else the next hidden message
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX mailbox_ready ON abide.mailbox (pin, ready) WHERE ready IS NOT NULL;
CREATE INDEX mailbox_due ON abide.mailbox (due) WHERE due IS NOT NULL;

CREATE TABLE abide.execution (
    mailbox      bigint NOT NULL,
    execution_id bigint NOT NULL,
    status       text NOT NULL DEFAULT 'Running' CHECK (status IN ('Running', 'Completed', 'Failed', 'ContinuedAsNew')),
    output       text,
    pin          text,
    started_at   bigint NOT NULL,
    completed_at bigint,
    PRIMARY KEY (mailbox, execution_id)
);

-- One row per turn, not per event: the heap grows at its end, and the index by one entry a turn. A turn of very many
-- events is cut, so that reading its tail does not read all of it.
CREATE TABLE abide.history (
    mailbox       bigint NOT NULL,
    execution_id  bigint NOT NULL,
    last_event_id bigint NOT NULL,
    count         integer NOT NULL,
    bytes         bigint NOT NULL,
    events        text[] NOT NULL,
    PRIMARY KEY (mailbox, execution_id, last_event_id)
);

-- "Visible" is a state, not a time: visible_at is null. Hidden messages are shown by come_due, once and for good.
--
-- "place" repeats the number of what can be had, here and in abide.work. Ordered by the number itself, a fetch may be
-- planned as a walk along the primary key, past everything that cannot be had; no other index offers this order.
CREATE TABLE abide.message (
    id           bigint PRIMARY KEY DEFAULT nextval('abide.number'),
    mailbox      bigint NOT NULL,
    class        text NOT NULL CHECK (class IN ('start', 'continue', 'queue', 'timer', 'other')),
    visible_at   bigint,
    place        bigint GENERATED ALWAYS AS (CASE WHEN visible_at IS NULL THEN id END) STORED,
    attempts     integer NOT NULL DEFAULT 0,
    execution_id bigint,    -- of a timer
    event_id     bigint,    -- of a timer
    item         text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX message_visible ON abide.message (mailbox, place) WHERE place IS NOT NULL;
CREATE INDEX message_hidden ON abide.message (mailbox, visible_at) WHERE visible_at IS NOT NULL;
CREATE INDEX message_start ON abide.message (mailbox, place) WHERE class IN ('start', 'continue');
CREATE INDEX message_timer ON abide.message (mailbox, execution_id, event_id) WHERE class = 'timer';

-- A tag is spelt '' if there is none and '=name' otherwise, so that a lane is found by one comparison.
CREATE TABLE abide.work (
    id           bigint PRIMARY KEY DEFAULT nextval('abide.number'),
    mailbox      bigint NOT NULL,
    execution_id bigint NOT NULL,
    activity_id  bigint NOT NULL,
    session      text COLLATE "C",
    tag          text COLLATE "C" NOT NULL DEFAULT '',
    attempts     integer NOT NULL DEFAULT 0,
    nonce        uuid,
    lease_until  bigint,
    leased_by    text,
    ready        boolean NOT NULL DEFAULT true,    -- visible and not leased
    place        bigint GENERATED ALWAYS AS (CASE WHEN ready THEN id END) STORED,
    due          bigint,                           -- when it becomes ready: the end of the lease or of the delay
    item         text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX work_ready ON abide.work (tag, place) WHERE place IS NOT NULL AND session IS NULL;
CREATE INDEX work_in_session ON abide.work (session, tag, place) WHERE session IS NOT NULL;
CREATE INDEX work_due ON abide.work (due) WHERE due IS NOT NULL;
CREATE INDEX work_of_execution ON abide.work (mailbox, execution_id, activity_id);

CREATE TABLE abide.session (
    name          text COLLATE "C" PRIMARY KEY,
    owner         text,
    locked_until  bigint,
    last_activity bigint    -- null: never claimed
);
CREATE INDEX session_owned ON abide.session (owner) WHERE owner IS NOT NULL;

-- What waits in a session under one tag. Work of a session is found through its lane, so that a million rows of
-- sessions that belong to others cost nothing. Holder and time repeat the session's.
CREATE TABLE abide.lane (
    session    text COLLATE "C" NOT NULL,
    tag        text COLLATE "C" NOT NULL,
    head       bigint,    -- the lowest work that is ready
    holder     text,
    held_until bigint,
    PRIMARY KEY (session, tag)
);
CREATE INDEX lane_free ON abide.lane (tag, head) WHERE head IS NOT NULL AND holder IS NULL;
CREATE INDEX lane_held ON abide.lane (holder, tag, head) WHERE head IS NOT NULL AND holder IS NOT NULL;
CREATE INDEX lane_due ON abide.lane (held_until) WHERE head IS NOT NULL AND holder IS NOT NULL;

CREATE TABLE abide.kv (
    mailbox bigint, key text COLLATE "C", value text NOT NULL, updated_at bigint NOT NULL, PRIMARY KEY (mailbox, key)
);
CREATE TABLE abide.kv_delta (    -- of the current execution; no value is a tombstone
    mailbox bigint, key text COLLATE "C", value text, updated_at bigint, PRIMARY KEY (mailbox, key)
);

CREATE TABLE abide.request (key uuid PRIMARY KEY, seen_at bigint NOT NULL);
CREATE INDEX request_by_age ON abide.request (seen_at);

CREATE TABLE abide.dead_letter (
    id bigint PRIMARY KEY, kind text NOT NULL, instance text, attempts integer NOT NULL, item text NOT NULL,
    died_at bigint NOT NULL
);

--------------------------------------------------------------------------------------------------- types of arguments

-- A batch is a few flat arrays; "turn" says to which turn of the batch a row belongs, counted from one.
CREATE TYPE abide.turn AS (
    turn               integer,
    instance           text,
    authority          text,      -- 'lease', 'work' (a fused step), or 'none' (to seed a history)
    mailbox            bigint,    -- from the token; of a fused step: the expected incarnation
    nonce              uuid,      -- from the token
    work               bigint,    -- of a fused step: from the token
    expected_execution bigint,
    expected_event     bigint,
    execution_id       bigint,
    consumes_all       boolean,
    creates            boolean,
    orchestration      text,
    version            text,
    parent             text,
    parent_execution   bigint,
    parent_event       bigint,
    pin                text,
    pin_key            text,
    status             text,
    output             text,
    custom_changed     boolean,
    custom_status      text,
    kv_clear           boolean,
    kv_fold            boolean,
    timers_all         boolean,
    prune              boolean,
    keep_last          integer,
    completed_before   bigint
);
CREATE TYPE abide.numbered AS (turn integer, number bigint);
CREATE TYPE abide.new_event AS (turn integer, event_id bigint, data text);
CREATE TYPE abide.kv_change AS (turn integer, key text, value text, updated_at bigint);
CREATE TYPE abide.new_work AS (
    turn integer, instance text, execution_id bigint, activity_id bigint, session text, tag text, item text
);
CREATE TYPE abide.revoked AS (turn integer, instance text, execution_id bigint, activity_id bigint, because text);
CREATE TYPE abide.mail AS (
    turn integer, recipient text, class text, visible_at bigint, execution_id bigint, event_id bigint, item text
);

------------------------------------------------------------------------------------------------------------ readiness

-- What a mailbox that is not leased offers, and when that changes: two looks at an index, however much mail there is.
CREATE FUNCTION abide.standing(p_mailbox bigint, p_exists boolean)
RETURNS TABLE (ready bigint, due bigint) LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_exists OR EXISTS (
                    SELECT FROM abide.message AS m
                    WHERE m.mailbox = p_mailbox AND m.class IN ('start', 'continue') AND m.place IS NOT NULL)
                THEN (SELECT m.place FROM abide.message AS m
                      WHERE m.mailbox = p_mailbox AND m.place IS NOT NULL ORDER BY m.place LIMIT 1) END,
           (SELECT m.visible_at FROM abide.message AS m
            WHERE m.mailbox = p_mailbox AND m.visible_at IS NOT NULL ORDER BY m.visible_at LIMIT 1)
$$;

-- Brings these mailboxes, which the caller has locked, up to date. One that is leased is left alone.
CREATE FUNCTION abide.settle(p_mailboxes bigint[], OUT wakes boolean, OUT due bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    UPDATE abide.mailbox AS b SET ready = s.ready, due = s.due
    FROM abide.mailbox AS old CROSS JOIN LATERAL abide.standing(old.id, old.execution_id > 0) AS s
    WHERE old.id = ANY (p_mailboxes) AND old.nonce IS NULL AND b.id = old.id
      AND (b.ready, b.due) IS DISTINCT FROM (s.ready, s.due);

    SELECT coalesce(bool_or(b.ready IS NOT NULL), false), min(b.due) INTO wakes, due
    FROM abide.mailbox AS b WHERE b.id = ANY (p_mailboxes) AND b.nonce IS NULL;
END $$;

-- Shows what has become visible, and voids leases that ran out: their messages count one attempt more. At most a
-- thousand mailboxes at a time; whoever fetches next goes on.
CREATE FUNCTION abide.come_due(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT b.id FROM abide.mailbox AS b WHERE b.due <= p_now
                            ORDER BY b.due LIMIT 1000 FOR UPDATE SKIP LOCKED);
BEGIN
    IF cardinality(v_due) = 0 THEN
        RETURN;
    END IF;
    UPDATE abide.message AS m SET attempts = m.attempts + 1
    FROM abide.mailbox AS b
    WHERE b.id = ANY (v_due) AND b.nonce IS NOT NULL
      AND m.mailbox = b.id AND (m.place <= b.batch_to OR m.place = b.batch_first);
    UPDATE abide.mailbox
    SET nonce = NULL, lease_until = NULL, leased_by = NULL, batch_to = NULL, batch_first = NULL
    WHERE id = ANY (v_due) AND nonce IS NOT NULL;
    UPDATE abide.message SET visible_at = NULL WHERE mailbox = ANY (v_due) AND visible_at <= p_now;
    PERFORM abide.settle(v_due);
END $$;

-- Locks sessions in order, whether they exist or not. An upsert, because between an insert that found the row and a
-- lock that looks for it, the row may be cleaned up.
CREATE FUNCTION abide.hold_sessions(p_sessions text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abide.session AS s (name)
    SELECT DISTINCT n COLLATE "C" AS name FROM unnest(p_sessions) AS n WHERE n IS NOT NULL ORDER BY name
    ON CONFLICT (name) DO UPDATE SET last_activity = s.last_activity;
END $$;

-- Brings the lanes of these sessions, which the caller holds, up to date. The tags name lanes that may be new.
CREATE FUNCTION abide.settle_lanes(p_sessions text[], p_tags text[], p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abide.lane (session, tag)
    SELECT DISTINCT s, t FROM unnest(p_sessions, p_tags) AS new (s, t) WHERE s IS NOT NULL AND t IS NOT NULL
    ON CONFLICT DO NOTHING;

    UPDATE abide.lane AS l
    SET head = (SELECT w.place FROM abide.work AS w
                WHERE w.session = l.session AND w.tag = l.tag AND w.place IS NOT NULL ORDER BY w.place LIMIT 1),
        holder = CASE WHEN s.locked_until > p_now THEN s.owner END,
        held_until = CASE WHEN s.locked_until > p_now THEN s.locked_until END
    FROM abide.session AS s WHERE s.name = ANY (p_sessions) AND l.session = s.name;
END $$;

-------------------------------------------------------------------------------------------------------------- leasing

-- The pins under which something is ready and which the caller can replay. It hops from pin to pin through the index,
-- so that a million instances of a version that nobody here can replay cost one look.
CREATE FUNCTION abide.ready_pins(p_from text[], p_to text[]) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE pin (pin) AS (
            (SELECT b.pin FROM abide.mailbox AS b WHERE b.ready IS NOT NULL ORDER BY b.pin LIMIT 1)
            UNION ALL
            SELECT (SELECT b.pin FROM abide.mailbox AS b WHERE b.ready IS NOT NULL AND b.pin > pin.pin
                    ORDER BY b.pin LIMIT 1)
            FROM pin WHERE pin.pin IS NOT NULL
        )
        SELECT coalesce(array_agg(pin.pin), '{}') FROM pin
        WHERE pin.pin IS NOT NULL
          AND (p_from IS NULL OR (pin.pin = '' AND cardinality(p_from) > 0)
               OR EXISTS (SELECT FROM unnest(p_from, p_to) AS r (low, high) WHERE pin.pin BETWEEN r.low AND r.high)));
END $$;

-- Leases up to p_limit instances, the longest waiting first. p_from and p_to are the ranges of pins that the caller can
-- replay, null for all. A message is neither written nor locked: the batch is "what is visible up to here", and stays
-- so while the lease lasts, because only come_due shows hidden mail and new mail has higher numbers.
CREATE FUNCTION abide.lease_instances(p_limit integer, p_lease_ms bigint, p_owner text, p_from text[], p_to text[])
RETURNS TABLE (
    mailbox bigint, nonce uuid, instance text, store_time bigint, execution_id bigint, last_event_id bigint,
    status text, orchestration text, version text, parent text, parent_execution bigint, parent_event bigint,
    message_ids bigint[], message_attempts integer[], message_items text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint := abide.now();
    v_taken bigint[];
BEGIN
    -- Losing a lease in a crash frees it, so nobody waits for the disk. It must be said here: a SET of the function
    -- would be undone before the commit.
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM abide.come_due(v_now);

    SELECT array_agg(c.id ORDER BY c.ready) INTO v_taken
    FROM (
        SELECT found.id, found.ready
        FROM unnest(abide.ready_pins(p_from, p_to)) AS wanted (pin)
        CROSS JOIN LATERAL (
            SELECT b.id, b.ready FROM abide.mailbox AS b
            WHERE b.pin = wanted.pin AND b.ready IS NOT NULL
            ORDER BY b.ready LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS found
        ORDER BY found.ready LIMIT p_limit
    ) AS c;

    RETURN QUERY
    WITH batch AS MATERIALIZED (
        SELECT b.id AS box, first.id AS first, mail.*
        FROM abide.mailbox AS b
        CROSS JOIN LATERAL (
            SELECT min(m.place) AS id FROM abide.message AS m
            WHERE m.mailbox = b.id AND m.class IN ('start', 'continue')
              AND (b.execution_id = 0 OR (b.status = 'ContinuedAsNew' AND m.class = 'continue'))
        ) AS first
        CROSS JOIN LATERAL (
            SELECT array_agg(x.id ORDER BY x.place) AS ids,
                   array_agg(x.attempts + 1 ORDER BY x.place) AS attempts,
                   array_agg(x.item ORDER BY x.place) AS items,
                   max(x.id) FILTER (WHERE x.id IS DISTINCT FROM first.id) AS last
            FROM (
                SELECT m.id, m.attempts, m.item, row_number() OVER place AS place,
                       sum(octet_length(m.item)) OVER (place ROWS UNBOUNDED PRECEDING) - octet_length(m.item) AS before
                FROM (
                    (SELECT m.id, m.attempts, m.item FROM abide.message AS m WHERE m.id = first.id)
                    UNION ALL
                    (SELECT m.id, m.attempts, m.item FROM abide.message AS m
                     WHERE m.mailbox = b.id AND m.place IS NOT NULL AND m.place IS DISTINCT FROM first.id
                     ORDER BY m.place LIMIT 1000)
                ) AS m
                WINDOW place AS (ORDER BY m.id IS DISTINCT FROM first.id, m.id)
            ) AS x
            WHERE x.place <= 1000 AND x.before < 4194304
        ) AS mail
        WHERE b.id = ANY (v_taken)
    ), leased AS (
        UPDATE abide.mailbox AS b
        SET nonce = gen_random_uuid(), lease_until = v_now + p_lease_ms, leased_by = p_owner,
            batch_to = coalesce(batch.last, 0), batch_first = batch.first, ready = NULL, due = v_now + p_lease_ms
        FROM batch WHERE b.id = batch.box
        RETURNING b.*, batch.ids, batch.attempts, batch.items
    )
    SELECT l.id, l.nonce, l.name, v_now, l.execution_id, l.last_event_id, l.status,
           i.orchestration, i.version, i.parent, i.parent_execution, i.parent_event, l.ids, l.attempts, l.items
    FROM leased AS l JOIN abide.instance AS i ON i.id = l.id
    ORDER BY array_position(v_taken, l.id);
END $$;

-- The tags under which work is ready, found by hopping through the index; for a worker that takes any.
CREATE FUNCTION abide.ready_tags() RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE plain (tag) AS (
            (SELECT w.tag FROM abide.work AS w WHERE w.place IS NOT NULL AND w.session IS NULL ORDER BY w.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT w.tag FROM abide.work AS w
                    WHERE w.place IS NOT NULL AND w.session IS NULL AND w.tag > plain.tag ORDER BY w.tag LIMIT 1)
            FROM plain WHERE plain.tag IS NOT NULL
        ), free (tag) AS (
            (SELECT l.tag FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder IS NULL ORDER BY l.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT l.tag FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder IS NULL AND l.tag > free.tag
                    ORDER BY l.tag LIMIT 1)
            FROM free WHERE free.tag IS NOT NULL
        )
        SELECT coalesce(array_agg(tag), '{}') FROM (SELECT tag FROM plain UNION SELECT tag FROM free) AS t
        WHERE tag IS NOT NULL);
END $$;

-- Work whose delay or lease is over is ready again; sessions whose time is over are free, where work waits in them.
CREATE FUNCTION abide.work_come_due(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT w.id FROM abide.work AS w WHERE w.due <= p_now
                            ORDER BY w.due LIMIT 1000 FOR UPDATE SKIP LOCKED);
    v_sessions text[];
    v_free text[];
BEGIN
    IF cardinality(v_due) > 0 THEN
        WITH shown AS (
            UPDATE abide.work SET ready = true, due = NULL, nonce = NULL, lease_until = NULL, leased_by = NULL
            WHERE id = ANY (v_due) RETURNING session
        )
        SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL) INTO v_sessions FROM shown;
        IF v_sessions IS NOT NULL THEN
            PERFORM abide.hold_sessions(v_sessions);
            PERFORM abide.settle_lanes(v_sessions, NULL, p_now);
        END IF;
    END IF;

    -- First those whose time seems to be over, then the same under their lock: it may have been renewed.
    v_free := ARRAY(SELECT s.name FROM abide.session AS s
                    WHERE s.name IN (SELECT l.session FROM abide.lane AS l
                                     WHERE l.head IS NOT NULL AND l.holder IS NOT NULL AND l.held_until <= p_now
                                     ORDER BY l.held_until LIMIT 1000)
                      AND s.locked_until <= p_now
                    ORDER BY s.name FOR UPDATE SKIP LOCKED);
    IF cardinality(v_free) > 0 THEN
        UPDATE abide.session SET owner = NULL WHERE name = ANY (v_free);
        PERFORM abide.settle_lanes(v_free, NULL, p_now);
    END IF;
END $$;

-- Leases up to p_limit activities, lowest number first. p_tags null takes any tag. With p_session_owner, work of
-- sessions is taken too, if the session is free or the caller's; taking it claims the session.
CREATE FUNCTION abide.lease_work(
    p_limit integer, p_lease_ms bigint, p_owner text, p_tags text[], p_session_owner text, p_session_ms bigint
) RETURNS TABLE (
    work bigint, mailbox bigint, nonce uuid, attempt integer, orchestration text, version text, item text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint := abide.now();
    v_tags text[];
    v_held text[] := '{}';    -- sessions that the caller may take from, locked
    v_found bigint[];
    v_claimed text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM abide.work_come_due(v_now);
    v_tags := coalesce(p_tags, abide.ready_tags());

    IF p_session_owner IS NOT NULL THEN
        v_held := ARRAY(
            SELECT c.name FROM (SELECT DISTINCT unnest(v_tags) AS tag) AS wanted
            CROSS JOIN LATERAL (
                SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = l.session
                WHERE l.tag = wanted.tag AND l.head IS NOT NULL AND l.holder IS NULL
                  AND (s.owner IS NULL OR s.owner = p_session_owner OR s.locked_until <= v_now)
                ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
            ) AS c)
        || ARRAY(
            SELECT c.name FROM (SELECT DISTINCT unnest(coalesce(p_tags, abide.held_tags(p_session_owner))) AS tag)
                               AS wanted
            CROSS JOIN LATERAL (
                SELECT s.name FROM abide.lane AS l JOIN abide.session AS s ON s.name = l.session
                WHERE l.holder = p_session_owner AND l.tag = wanted.tag AND l.head IS NOT NULL
                  AND s.owner = p_session_owner
                ORDER BY l.head LIMIT p_limit FOR UPDATE OF s SKIP LOCKED
            ) AS c);
    END IF;

    SELECT array_agg(c.id) INTO v_found FROM (
        SELECT plain.id
        FROM (SELECT DISTINCT unnest(v_tags) AS tag) AS wanted
        CROSS JOIN LATERAL (
            SELECT w.id FROM abide.work AS w
            WHERE w.tag = wanted.tag AND w.place IS NOT NULL AND w.session IS NULL
            ORDER BY w.place LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS plain
        UNION ALL
        SELECT bound.id
        FROM abide.lane AS l
        CROSS JOIN LATERAL (
            SELECT w.id FROM abide.work AS w
            WHERE w.session = l.session AND w.tag = l.tag AND w.place IS NOT NULL
            ORDER BY w.place LIMIT p_limit FOR UPDATE SKIP LOCKED
        ) AS bound
        WHERE l.session = ANY (v_held) AND (p_tags IS NULL OR l.tag = ANY (p_tags))
        ORDER BY id LIMIT p_limit
    ) AS c;

    SELECT array_agg(DISTINCT w.session) FILTER (WHERE w.session IS NOT NULL) INTO v_claimed
    FROM abide.work AS w WHERE w.id = ANY (v_found);

    RETURN QUERY
    WITH leased AS (
        UPDATE abide.work AS w
        SET nonce = gen_random_uuid(), lease_until = v_now + p_lease_ms, leased_by = p_owner,
            attempts = w.attempts + 1, ready = false, due = v_now + p_lease_ms
        WHERE w.id = ANY (v_found) RETURNING w.*
    )
    SELECT l.id, l.mailbox, l.nonce, l.attempts, coalesce(i.orchestration, ''), coalesce(i.version, ''), l.item
    FROM leased AS l LEFT JOIN abide.instance AS i ON i.id = l.mailbox AND i.created_at IS NOT NULL
    ORDER BY l.id;

    IF v_claimed IS NOT NULL THEN
        UPDATE abide.session SET owner = p_session_owner, locked_until = v_now + p_session_ms, last_activity = v_now
        WHERE name = ANY (v_claimed);
        PERFORM abide.settle_lanes(v_claimed, NULL, v_now);
    END IF;
END $$;

-- The tags under which work waits in sessions of this owner.
CREATE FUNCTION abide.held_tags(p_owner text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (
        WITH RECURSIVE held (tag) AS (
            (SELECT l.tag FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder = p_owner ORDER BY l.tag LIMIT 1)
            UNION ALL
            SELECT (SELECT l.tag FROM abide.lane AS l
                    WHERE l.head IS NOT NULL AND l.holder = p_owner AND l.tag > held.tag ORDER BY l.tag LIMIT 1)
            FROM held WHERE held.tag IS NOT NULL
        )
        SELECT coalesce(array_agg(tag), '{}') FROM held WHERE tag IS NOT NULL);
END $$;

------------------------------------------------------------------------------------------- locking, before all writes

-- Makes mailboxes for names that have none, in the order of the names, and says which it made.
CREATE FUNCTION abide.register(p_names text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_missing text[] := ARRAY(
        SELECT DISTINCT n COLLATE "C" AS name FROM unnest(p_names) AS n
        WHERE NOT EXISTS (SELECT FROM abide.instance AS i WHERE i.name = n) ORDER BY name);
    v_made bigint[] := '{}';
BEGIN
    IF cardinality(v_missing) > 0 THEN
        WITH named AS (
            INSERT INTO abide.instance (name)
            SELECT n FROM unnest(v_missing) WITH ORDINALITY AS m (n, place) ORDER BY place
            ON CONFLICT (name) DO NOTHING RETURNING id, name
        ), boxed AS (
            INSERT INTO abide.mailbox (id, name) SELECT id, name FROM named RETURNING id
        )
        SELECT coalesce(array_agg(id), '{}') INTO v_made FROM boxed;
    END IF;
    RETURN v_made;
END $$;

-- Locks mailboxes in order, and says which are there. Names that the caller must find have been registered before; one
-- that is gone again was deleted while we waited. Going back for it would break the order, so the call is repeated.
CREATE FUNCTION abide.lock_mailboxes(p_ids bigint[], p_required text[], p_optional text[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_wanted bigint[] := ARRAY(SELECT unnest(p_ids) UNION
                               SELECT i.id FROM abide.instance AS i WHERE i.name = ANY (p_required || p_optional));
    v_locked bigint[];
BEGIN
    v_locked := ARRAY(SELECT b.id FROM abide.mailbox AS b WHERE b.id = ANY (v_wanted) ORDER BY b.id FOR UPDATE);
    IF EXISTS (SELECT FROM unnest(p_required) AS n WHERE NOT EXISTS (
                   SELECT FROM abide.instance AS i WHERE i.name = n AND i.id = ANY (v_locked))) THEN
        RAISE EXCEPTION 'an instance was deleted while a message for it waited' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN v_locked;
END $$;

---------------------------------------------------------------------------------------------------- parts of a commit

-- Executions that a prune takes, once p_current is the current one and counts among those to keep.
CREATE FUNCTION abide.prunable(p_mailbox bigint, p_current bigint, p_keep_last integer, p_completed_before bigint)
RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
    SELECT e.execution_id FROM abide.execution AS e
    WHERE e.mailbox = p_mailbox AND e.execution_id < p_current AND e.status <> 'Running'
      AND (p_completed_before IS NULL OR e.completed_at < p_completed_before)
      AND e.execution_id <= (
          SELECT k.execution_id FROM abide.execution AS k
          WHERE k.mailbox = p_mailbox AND k.execution_id < p_current
          ORDER BY k.execution_id DESC OFFSET greatest(p_keep_last, 1) - 1 LIMIT 1)
$$;

-- One answer per turn. Called when everything is locked, with the time read after that.
CREATE FUNCTION abide.judge(p_turns abide.turn[], p_events abide.new_event[], p_boxes bigint[], p_now bigint)
RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (
        SELECT array_agg(
            CASE
                -- A second turn of the same instance is judged by what the first one leaves: in another call.
                WHEN t.nth > 1 THEN 'again'
                WHEN t.authority = 'lease' AND (b.nonce = t.nonce AND b.lease_until > p_now AND b.name = t.instance)
                     IS NOT TRUE THEN 'lost'
                WHEN t.authority = 'work' AND (w.nonce = t.nonce AND w.lease_until > p_now) IS NOT TRUE THEN 'lost'
                WHEN t.authority = 'work' AND (
                         b.name = t.instance AND w.mailbox = b.id
                         AND (b.nonce IS NULL OR b.lease_until <= p_now)
                         AND b.execution_id = t.expected_execution AND b.last_event_id = t.expected_event
                         AND NOT EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = b.id AND m.place IS NOT NULL)
                         AND NOT EXISTS (SELECT FROM abide.message AS m
                                         WHERE m.mailbox = b.id AND m.visible_at <= p_now)
                     ) IS NOT TRUE THEN 'busy'
                WHEN t.execution_id < b.execution_id THEN 'conflict'
                WHEN t.execution_id = b.execution_id AND e.first <= b.last_event_id THEN 'conflict'
                ELSE 'ok'
            END ORDER BY t.turn)
        FROM (SELECT t.*, row_number() OVER (PARTITION BY coalesce(p_boxes[t.turn], -t.turn) ORDER BY t.turn) AS nth
              FROM unnest(p_turns) AS t) AS t
        LEFT JOIN abide.mailbox AS b ON b.id = p_boxes[t.turn]
        LEFT JOIN abide.work AS w ON w.id = t.work
        LEFT JOIN (SELECT e.turn, min(e.event_id) AS first FROM unnest(p_events) AS e GROUP BY e.turn) AS e
               ON e.turn = t.turn);
END $$;

-- In what follows p_boxes[turn] is null for a turn that was refused, so that no write can find a row for it.

CREATE FUNCTION abide.write_executions(p_turns abide.turn[], p_events abide.new_event[], p_boxes bigint[], p_now bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE abide.instance AS i
    SET orchestration = coalesce(t.orchestration, i.orchestration), version = coalesce(t.version, i.version),
        parent = coalesce(i.parent, t.parent),
        parent_execution = CASE WHEN i.parent IS NULL THEN t.parent_execution ELSE i.parent_execution END,
        parent_event = CASE WHEN i.parent IS NULL THEN t.parent_event ELSE i.parent_event END,
        custom_status = CASE WHEN t.custom_changed THEN t.custom_status ELSE i.custom_status END,
        custom_status_version = i.custom_status_version + t.custom_changed::integer,
        created_at = coalesce(i.created_at, p_now)
    FROM unnest(p_turns) AS t
    WHERE i.id = p_boxes[t.turn] AND (t.creates OR i.created_at IS NOT NULL)
      AND (i.created_at IS NULL OR t.custom_changed OR t.orchestration <> i.orchestration OR t.version <> i.version
           OR (i.parent IS NULL AND t.parent IS NOT NULL));

    INSERT INTO abide.execution (mailbox, execution_id, started_at)
    SELECT b.id, t.execution_id, p_now
    FROM unnest(p_turns) AS t JOIN abide.mailbox AS b ON b.id = p_boxes[t.turn]
    WHERE t.execution_id > b.execution_id AND (t.creates OR b.execution_id > 0);

    UPDATE abide.execution AS e
    SET pin = coalesce(t.pin, e.pin), status = coalesce(t.status, e.status),
        output = CASE WHEN t.status IS NULL THEN e.output ELSE t.output END,
        completed_at = CASE WHEN t.status IS NULL THEN e.completed_at WHEN t.status <> 'Running' THEN p_now END
    FROM unnest(p_turns) AS t
    WHERE e.mailbox = p_boxes[t.turn] AND e.execution_id = t.execution_id
      AND (t.pin IS NOT NULL OR t.status IS NOT NULL);

    INSERT INTO abide.history (mailbox, execution_id, last_event_id, count, bytes, events)
    SELECT p_boxes[t.turn], t.execution_id, e.last, e.count, e.bytes, e.events
    FROM unnest(p_turns) AS t
    JOIN (SELECT e.turn, max(e.event_id) AS last, count(*) AS count, sum(octet_length(e.data)) AS bytes,
                 array_agg(e.data ORDER BY e.event_id) AS events
          FROM (SELECT e.*, (row_number() OVER (PARTITION BY e.turn ORDER BY e.event_id) - 1) / 500 AS piece
                FROM unnest(p_events) AS e) AS e
          GROUP BY e.turn, e.piece) AS e ON e.turn = t.turn
    WHERE p_boxes[t.turn] IS NOT NULL;
END $$;

CREATE FUNCTION abide.write_kv(p_turns abide.turn[], p_kv abide.kv_change[], p_boxes bigint[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_clear bigint[] := ARRAY(SELECT p_boxes[t.turn] FROM unnest(p_turns) AS t WHERE t.kv_clear);
    v_fold bigint[] := ARRAY(SELECT p_boxes[t.turn] FROM unnest(p_turns) AS t WHERE t.kv_fold);
BEGIN
    IF cardinality(v_clear) > 0 THEN
        INSERT INTO abide.kv_delta (mailbox, key)
        SELECT mailbox, key FROM abide.kv WHERE mailbox = ANY (v_clear)
        UNION SELECT mailbox, key FROM abide.kv_delta WHERE mailbox = ANY (v_clear)
        ON CONFLICT (mailbox, key) DO UPDATE SET value = NULL, updated_at = NULL;
    END IF;
    IF cardinality(p_kv) > 0 THEN
        INSERT INTO abide.kv_delta (mailbox, key, value, updated_at)
        SELECT p_boxes[c.turn], c.key, c.value, c.updated_at FROM unnest(p_kv) AS c WHERE p_boxes[c.turn] IS NOT NULL
        ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
    END IF;
    IF cardinality(v_fold) > 0 THEN
        DELETE FROM abide.kv AS k USING abide.kv_delta AS d
        WHERE d.mailbox = ANY (v_fold) AND d.value IS NULL AND k.mailbox = d.mailbox AND k.key = d.key;
        INSERT INTO abide.kv (mailbox, key, value, updated_at)
        SELECT d.mailbox, d.key, d.value, d.updated_at FROM abide.kv_delta AS d
        WHERE d.mailbox = ANY (v_fold) AND d.value IS NOT NULL
        ON CONFLICT (mailbox, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
        DELETE FROM abide.kv_delta WHERE mailbox = ANY (v_fold);
    END IF;
END $$;

-- Enqueues messages, in order, into mailboxes that are locked. A queue message is dropped if nobody is there to read it
-- and nobody is about to start. p_living are instances from this commit on.
CREATE FUNCTION abide.post(p_mail abide.mail[], p_locked bigint[], p_living bigint[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abide.message (mailbox, class, visible_at, execution_id, event_id, item)
    SELECT b.id, m.class, m.visible_at, m.execution_id, m.event_id, m.item
    FROM (SELECT m.*,
                 bool_or(m.class IN ('start', 'continue')) OVER (PARTITION BY m.recipient ORDER BY m.place) AS starts
          FROM unnest(p_mail) WITH ORDINALITY
               AS m (turn, recipient, class, visible_at, execution_id, event_id, item, place)) AS m
    JOIN abide.instance AS i ON i.name = m.recipient
    JOIN abide.mailbox AS b ON b.id = i.id
    WHERE b.id = ANY (p_locked)
      AND (m.class <> 'queue' OR b.execution_id > 0 OR b.id = ANY (p_living) OR m.starts
           OR EXISTS (SELECT FROM abide.message AS s WHERE s.mailbox = b.id AND s.class IN ('start', 'continue')))
    ORDER BY m.place;
END $$;

-- Deletes work rows that are locked, and says whose leases that ended: the caller tells them when it has committed.
CREATE FUNCTION abide.take_back(
    p_work bigint[], p_because text[], OUT stolen text[], OUT because text[], OUT sessions text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH gone AS (
        DELETE FROM abide.work AS w
        USING (SELECT DISTINCT ON (id) id, why FROM unnest(p_work, p_because) AS d (id, why) ORDER BY id) AS d
        WHERE w.id = d.id RETURNING w.id, w.mailbox, w.nonce, w.session, w.ready, d.why
    )
    SELECT coalesce(array_agg(concat_ws('.', id, mailbox, nonce) ORDER BY id) FILTER (WHERE nonce IS NOT NULL), '{}'),
           coalesce(array_agg(why ORDER BY id) FILTER (WHERE nonce IS NOT NULL), '{}'),
           coalesce(array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL AND ready), '{}')
    INTO stolen, because, sessions FROM gone;
END $$;

-- Deletes executions with their events. Their work has been taken back before.
CREATE FUNCTION abide.drop_executions(
    p_mailboxes bigint[], p_executions bigint[], OUT executions bigint, OUT events bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH doomed AS MATERIALIZED (SELECT * FROM unnest(p_mailboxes, p_executions) AS d (mailbox, execution_id)),
    h AS (DELETE FROM abide.history AS h USING doomed AS d
          WHERE h.mailbox = d.mailbox AND h.execution_id = d.execution_id RETURNING h.count),
    e AS (DELETE FROM abide.execution AS e USING doomed AS d
          WHERE e.mailbox = d.mailbox AND e.execution_id = d.execution_id RETURNING 1)
    SELECT (SELECT count(*) FROM e), (SELECT coalesce(sum(count), 0) FROM h) INTO executions, events;
END $$;

----------------------------------------------------------------------------------------------------------- committing

-- Commits turns, each for itself. outcomes[turn] is 'ok', 'lost', 'busy', 'conflict' or 'again'. An error, of which a
-- sound caller sees none but the retryable ones, undoes them all, and the caller repeats them one by one.
-- The other results are news for those who wait, to be sent when this is committed: whether an instance can be leased
-- now, under which tags there is new work, when the next message becomes visible, and whose leases are gone, and why.
CREATE FUNCTION abide.commit_turns(
    p_turns abide.turn[], p_consumed abide.numbered[], p_events abide.new_event[], p_kv abide.kv_change[],
    p_work abide.new_work[], p_revoked abide.revoked[], p_mail abide.mail[], p_timers abide.numbered[],
    OUT outcomes text[], OUT wakes boolean, OUT tags text[], OUT due bigint, OUT stolen text[], OUT because text[],
    OUT pruned_executions bigint, OUT pruned_events bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_required text[] := ARRAY(SELECT m.recipient FROM unnest(p_mail) AS m WHERE m.class <> 'queue'
                               UNION SELECT w.instance FROM unnest(p_work) AS w
                               UNION SELECT t.instance FROM unnest(p_turns) AS t WHERE t.authority = 'none');
    v_optional text[] := ARRAY(SELECT m.recipient FROM unnest(p_mail) AS m WHERE m.class = 'queue');
    v_made bigint[] := abide.register(v_required);
    v_boxes bigint[];     -- per turn
    v_locked bigint[];
    v_living bigint[];    -- instances when this is done
    v_revoked bigint[];      v_revoked_turn integer[];    v_why text[];
    v_pruned_box bigint[];   v_pruned_turn integer[];     v_pruned bigint[];
    v_pruned_work bigint[] := '{}';
    v_sessions text[];    v_session_tags text[];
    -- What occurs in this batch at all: most statements below have nothing to do in most calls.
    v_fuses boolean;      v_prunes boolean;    v_kv boolean;    v_ends boolean;
BEGIN
    SELECT bool_or(t.authority = 'work'), bool_or(t.prune), bool_or(t.kv_clear OR t.kv_fold) OR cardinality(p_kv) > 0,
           bool_or(t.timers_all)
    INTO v_fuses, v_prunes, v_kv, v_ends FROM unnest(p_turns) AS t;
    SELECT array_agg(CASE t.authority WHEN 'none' THEN (SELECT i.id FROM abide.instance AS i WHERE i.name = t.instance)
                                      ELSE t.mailbox END ORDER BY t.turn)
    INTO v_boxes FROM unnest(p_turns) AS t;

    -- Locks, in their order: mailboxes, then every work row that may be deleted.
    v_locked := abide.lock_mailboxes(v_boxes, v_required, v_optional);
    IF cardinality(p_revoked) > 0 OR v_fuses OR v_prunes THEN
        SELECT coalesce(array_agg(w.id), '{}'), array_agg(r.turn), array_agg(r.because)
        INTO v_revoked, v_revoked_turn, v_why
        FROM unnest(p_revoked) AS r
        JOIN abide.instance AS i ON i.name = r.instance
        JOIN abide.work AS w ON w.mailbox = i.id AND w.execution_id = r.execution_id AND w.activity_id = r.activity_id;
        SELECT coalesce(array_agg(v_boxes[t.turn]), '{}'), array_agg(t.turn), array_agg(e)
        INTO v_pruned_box, v_pruned_turn, v_pruned
        FROM unnest(p_turns) AS t
        CROSS JOIN LATERAL abide.prunable(v_boxes[t.turn], t.execution_id, t.keep_last, t.completed_before) AS e
        WHERE t.prune;
        PERFORM FROM abide.work AS w
        WHERE w.id = ANY (v_revoked || ARRAY(SELECT t.work FROM unnest(p_turns) AS t WHERE t.authority = 'work')
            || ARRAY(SELECT w.id FROM unnest(v_pruned_box, v_pruned) AS d (box, execution)
                     JOIN abide.work AS w ON w.mailbox = d.box AND w.execution_id = d.execution))
        ORDER BY w.id FOR UPDATE;
    END IF;

    v_now := abide.now();
    outcomes := abide.judge(p_turns, p_events, v_boxes, v_now);
    SELECT array_agg(CASE WHEN outcomes[t.turn] = 'ok' THEN v_boxes[t.turn] END ORDER BY t.turn)
    INTO v_boxes FROM unnest(p_turns) AS t;

    DELETE FROM abide.message AS m USING unnest(p_turns) AS t, abide.mailbox AS b
    WHERE t.authority = 'lease' AND b.id = v_boxes[t.turn]
      AND m.mailbox = b.id AND (m.place <= b.batch_to OR m.place = b.batch_first)
      AND (t.consumes_all OR (t.turn, m.id) IN (SELECT c.turn, c.number FROM unnest(p_consumed) AS c));

    PERFORM abide.write_executions(p_turns, p_events, v_boxes, v_now);
    IF v_kv THEN
        PERFORM abide.write_kv(p_turns, p_kv, v_boxes);
    END IF;
    SELECT array_agg(b.id) INTO v_living
    FROM unnest(p_turns) AS t JOIN abide.mailbox AS b ON b.id = v_boxes[t.turn] WHERE t.creates OR b.execution_id > 0;

    -- Work: new rows, then those that go.
    tags := '{}';    stolen := '{}';    because := '{}';    v_sessions := '{}';
    IF cardinality(p_work) > 0 THEN
        WITH queued AS (
            INSERT INTO abide.work (mailbox, execution_id, activity_id, session, tag, item)
            SELECT i.id, w.execution_id, w.activity_id, w.session, w.tag, w.item
            FROM unnest(p_work) WITH ORDINALITY
                 AS w (turn, instance, execution_id, activity_id, session, tag, item, place)
            JOIN abide.instance AS i ON i.name = w.instance
            WHERE v_boxes[w.turn] IS NOT NULL ORDER BY w.place
            RETURNING session, tag
        )
        SELECT coalesce(array_agg(DISTINCT tag), '{}'),
               coalesce(array_agg(session) FILTER (WHERE session IS NOT NULL), '{}'),
               array_agg(tag) FILTER (WHERE session IS NOT NULL)
        INTO tags, v_sessions, v_session_tags FROM queued;
    END IF;
    IF cardinality(p_revoked) > 0 OR v_prunes THEN
        v_pruned_work := ARRAY(
            SELECT w.id FROM unnest(v_pruned_box, v_pruned, v_pruned_turn) AS d (box, execution, turn)
            JOIN abide.work AS w ON w.mailbox = d.box AND w.execution_id = d.execution
            WHERE v_boxes[d.turn] IS NOT NULL);
        SELECT g.stolen, g.because, v_sessions || g.sessions INTO stolen, because, v_sessions
        FROM abide.take_back(
            ARRAY(SELECT r.id FROM unnest(v_revoked, v_revoked_turn) AS r (id, turn) WHERE v_boxes[r.turn] IS NOT NULL)
                || v_pruned_work,
            ARRAY(SELECT r.why FROM unnest(v_why, v_revoked_turn) AS r (why, turn) WHERE v_boxes[r.turn] IS NOT NULL)
                || array_fill('deleted'::text, ARRAY[cardinality(v_pruned_work)])) AS g;
    END IF;

    -- Sessions come last in the order: that of a fused step was active; what was queued or taken back changes lanes.
    IF v_fuses THEN
        SELECT v_sessions || coalesce(array_agg(w.session), '{}') INTO v_sessions
        FROM unnest(p_turns) AS t JOIN abide.work AS w ON w.id = t.work
        WHERE v_boxes[t.turn] IS NOT NULL AND w.session IS NOT NULL;
    END IF;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions);
        UPDATE abide.session AS s SET last_activity = v_now
        FROM unnest(p_turns) AS t JOIN abide.work AS w ON w.id = t.work
        WHERE v_boxes[t.turn] IS NOT NULL AND s.name = w.session AND s.locked_until > v_now;
        PERFORM abide.settle_lanes(v_sessions, v_session_tags, v_now);
    END IF;
    IF v_fuses THEN
        DELETE FROM abide.work AS w USING unnest(p_turns) AS t WHERE w.id = t.work AND v_boxes[t.turn] IS NOT NULL;
    END IF;

    IF cardinality(p_mail) > 0 THEN
        PERFORM abide.post(ARRAY(SELECT m FROM unnest(p_mail) AS m WHERE v_boxes[m.turn] IS NOT NULL),
                           v_locked, v_living);
    END IF;
    IF cardinality(p_timers) > 0 THEN
        DELETE FROM abide.message AS m USING unnest(p_timers) AS n, unnest(p_turns) AS t
        WHERE t.turn = n.turn AND m.mailbox = v_boxes[n.turn] AND m.class = 'timer' AND m.execution_id = t.execution_id
          AND m.event_id = n.number;
    END IF;
    IF v_ends THEN
        DELETE FROM abide.message AS m USING unnest(p_turns) AS t
        WHERE t.timers_all AND m.mailbox = v_boxes[t.turn] AND m.class = 'timer' AND m.execution_id = t.execution_id;
    END IF;
    IF v_prunes THEN
        SELECT d.executions, d.events INTO pruned_executions, pruned_events
        FROM abide.drop_executions(
            ARRAY(SELECT d.box FROM unnest(v_pruned_box, v_pruned_turn) AS d (box, turn)
                  WHERE v_boxes[d.turn] IS NOT NULL),
            ARRAY(SELECT d.e FROM unnest(v_pruned, v_pruned_turn) AS d (e, turn)
                  WHERE v_boxes[d.turn] IS NOT NULL)) AS d;
    END IF;

    -- The position, the lease and the readiness of each instance, in one write to its row.
    UPDATE abide.mailbox AS b
    SET execution_id = n.execution_id, last_event_id = n.last_event_id, status = n.status, pin = n.pin,
        updated_at = v_now,
        nonce = CASE WHEN n.keeps THEN b.nonce END, lease_until = CASE WHEN n.keeps THEN b.lease_until END,
        leased_by = CASE WHEN n.keeps THEN b.leased_by END,
        batch_to = CASE WHEN n.keeps THEN b.batch_to END, batch_first = CASE WHEN n.keeps THEN b.batch_first END,
        ready = CASE WHEN n.keeps THEN b.ready ELSE s.ready END, due = CASE WHEN n.keeps THEN b.due ELSE s.due END
    FROM (
        SELECT b.id, b.id = ANY (v_living) AS lives,
               CASE WHEN b.id = ANY (v_living) THEN t.execution_id ELSE 0 END AS execution_id,
               coalesce(e.last, CASE WHEN t.execution_id > b.execution_id THEN 0 ELSE b.last_event_id END)
                   AS last_event_id,
               CASE WHEN NOT b.id = ANY (v_living) THEN NULL
                    WHEN t.execution_id > b.execution_id THEN coalesce(t.status, 'Running')
                    ELSE coalesce(t.status, b.status) END AS status,
               coalesce(t.pin_key, CASE WHEN t.execution_id > b.execution_id THEN '' ELSE b.pin END) AS pin,
               t.authority = 'none' AND b.nonce IS NOT NULL AS keeps    -- seeding a history ends nobody's lease
        FROM unnest(p_turns) AS t
        JOIN abide.mailbox AS b ON b.id = v_boxes[t.turn]
        LEFT JOIN (SELECT e.turn, max(e.event_id) AS last FROM unnest(p_events) AS e GROUP BY e.turn) AS e
               ON e.turn = t.turn
    ) AS n
    CROSS JOIN LATERAL abide.standing(n.id, coalesce(n.lives, false)) AS s
    WHERE b.id = n.id;

    -- A refused turn leaves nothing behind, not even the mailboxes of children it wanted to start.
    IF EXISTS (SELECT FROM unnest(outcomes) AS o WHERE o <> 'ok') THEN
        DELETE FROM abide.mailbox AS b WHERE b.id = ANY (v_made) AND b.execution_id = 0
            AND NOT EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = b.id)
            AND NOT EXISTS (SELECT FROM abide.work AS w WHERE w.mailbox = b.id);
        DELETE FROM abide.instance AS i WHERE i.id = ANY (v_made)
            AND NOT EXISTS (SELECT FROM abide.mailbox AS b WHERE b.id = i.id);
    END IF;
    SELECT s.wakes, s.due INTO wakes, due FROM abide.settle(v_locked) AS s;
END $$;

-- Removes finished activities and tells their instances. p_items is null for one that tells nothing. outcomes are 'ok',
-- 'lost', or 'invalid' if the completion is for another instance. The mailbox is in the token, so it can be locked
-- before the work row is looked at.
CREATE FUNCTION abide.finish_work(
    p_work bigint[], p_mailboxes bigint[], p_nonces uuid[], p_instances text[], p_items text[],
    OUT outcomes text[], OUT wakes boolean, OUT due bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_locked bigint[] := abide.lock_mailboxes(
        ARRAY(SELECT f.box FROM unnest(p_mailboxes, p_items) AS f (box, item) WHERE f.item IS NOT NULL), '{}', '{}');
    v_gone bigint[];
    v_sessions text[];
BEGIN
    PERFORM FROM abide.work AS w WHERE w.id = ANY (p_work) ORDER BY w.id FOR UPDATE;
    v_now := abide.now();
    SELECT array_agg(CASE WHEN (w.nonce = f.nonce AND w.lease_until > v_now AND w.mailbox = f.box AND f.nth = 1)
                               IS NOT TRUE THEN 'lost'
                          WHEN f.item IS NOT NULL AND f.instance IS DISTINCT FROM i.name THEN 'invalid'
                          ELSE 'ok' END ORDER BY f.place)
    INTO outcomes
    FROM (SELECT f.*, row_number() OVER (PARTITION BY f.work ORDER BY f.place) AS nth
          FROM unnest(p_work, p_mailboxes, p_nonces, p_instances, p_items) WITH ORDINALITY
               AS f (work, box, nonce, instance, item, place)) AS f
    LEFT JOIN abide.work AS w ON w.id = f.work
    LEFT JOIN abide.instance AS i ON i.id = w.mailbox;

    v_gone := ARRAY(SELECT f.work FROM unnest(p_work, outcomes) AS f (work, outcome) WHERE f.outcome = 'ok');
    INSERT INTO abide.message (mailbox, class, item)
    SELECT b.id, 'other', f.item
    FROM unnest(p_mailboxes, p_items, outcomes) WITH ORDINALITY AS f (box, item, outcome, place)
    JOIN abide.mailbox AS b ON b.id = f.box
    WHERE f.outcome = 'ok' AND f.item IS NOT NULL ORDER BY f.place;
    WITH gone AS (DELETE FROM abide.work AS w WHERE w.id = ANY (v_gone) RETURNING w.session)
    SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL) INTO v_sessions FROM gone;
    IF v_sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions);
        UPDATE abide.session SET last_activity = v_now WHERE name = ANY (v_sessions) AND locked_until > v_now;
    END IF;
    SELECT s.wakes, s.due INTO wakes, due FROM abide.settle(v_locked) AS s;
END $$;

-- Enqueues messages of clients. p_keys makes repeating the call safe: a key that was seen within the hour does nothing.
-- Keys come before mailboxes in the lock order; no other call takes one.
CREATE FUNCTION abide.enqueue_messages(
    p_mail abide.mail[], p_delays_ms bigint[], p_keys uuid[],
    OUT outcomes text[], OUT wakes boolean, OUT due bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint := abide.now();
    v_new uuid[];
    v_mail abide.mail[];
    v_required text[];
    v_locked bigint[];
BEGIN
    WITH seen AS (
        INSERT INTO abide.request AS r (key, seen_at)
        SELECT DISTINCT k, v_now FROM unnest(p_keys) AS k WHERE k IS NOT NULL ORDER BY k
        ON CONFLICT (key) DO UPDATE SET seen_at = v_now WHERE r.seen_at <= v_now - 3600000
        RETURNING key
    )
    SELECT coalesce(array_agg(key), '{}') INTO v_new FROM seen;
    SELECT array_agg(CASE WHEN k.key IS NULL OR (k.key = ANY (v_new) AND k.nth = 1) THEN 'ok' ELSE 'repeated' END
                     ORDER BY k.place)
    INTO outcomes
    FROM (SELECT k.*, row_number() OVER (PARTITION BY k.key ORDER BY k.place) AS nth
          FROM unnest(p_keys) WITH ORDINALITY AS k (key, place)) AS k;

    v_required := ARRAY(SELECT m.recipient FROM unnest(p_mail) AS m
                        WHERE m.class <> 'queue' AND outcomes[m.turn] = 'ok');
    PERFORM abide.register(v_required);
    v_locked := abide.lock_mailboxes(
        '{}', v_required, ARRAY(SELECT m.recipient FROM unnest(p_mail) AS m WHERE m.class = 'queue'));
    v_now := abide.now();
    v_mail := ARRAY(
        SELECT ROW (m.turn, m.recipient, m.class, greatest(m.visible_at, v_now + p_delays_ms[m.turn]),
                    m.execution_id, m.event_id, m.item)::abide.mail
        FROM unnest(p_mail) AS m WHERE outcomes[m.turn] = 'ok' ORDER BY m.turn);
    PERFORM abide.post(v_mail, v_locked, '{}');
    SELECT s.wakes, s.due INTO wakes, due FROM abide.settle(v_locked) AS s;
END $$;

-- Forgets keys that are older than an hour, some at a time; housekeeping.
CREATE FUNCTION abide.forget_requests(p_limit integer) RETURNS void LANGUAGE sql VOLATILE AS $$
    DELETE FROM abide.request WHERE key IN (
        SELECT r.key FROM abide.request AS r WHERE r.seen_at <= abide.now() - 3600000
        ORDER BY r.seen_at LIMIT p_limit FOR UPDATE SKIP LOCKED)
$$;

-- Enqueues activities without a turn, as tests do.
CREATE FUNCTION abide.enqueue_work(p_work abide.new_work[], OUT tags text[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_names text[] := ARRAY(SELECT w.instance FROM unnest(p_work) AS w);
    v_sessions text[];
    v_session_tags text[];
BEGIN
    PERFORM abide.register(v_names);
    PERFORM abide.lock_mailboxes('{}', v_names, '{}');
    WITH queued AS (
        INSERT INTO abide.work (mailbox, execution_id, activity_id, session, tag, item)
        SELECT i.id, w.execution_id, w.activity_id, w.session, w.tag, w.item
        FROM unnest(p_work) WITH ORDINALITY AS w (turn, instance, execution_id, activity_id, session, tag, item, place)
        JOIN abide.instance AS i ON i.name = w.instance ORDER BY w.place
        RETURNING session, tag
    )
    SELECT array_agg(DISTINCT tag), array_agg(session) FILTER (WHERE session IS NOT NULL),
           array_agg(tag) FILTER (WHERE session IS NOT NULL)
    INTO tags, v_sessions, v_session_tags FROM queued;
    IF v_sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, v_session_tags, abide.now());
    END IF;
END $$;

----------------------------------------------------------------------------------------------------- renew, give back

-- outcomes are 'ok' or 'lost', one per token.
CREATE FUNCTION abide.renew_instances(p_mailboxes bigint[], p_nonces uuid[], p_extend_ms bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_held bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM FROM abide.mailbox AS b WHERE b.id = ANY (p_mailboxes) ORDER BY b.id FOR UPDATE;
    v_now := abide.now();
    v_held := ARRAY(SELECT b.id FROM unnest(p_mailboxes, p_nonces) AS r (id, nonce)
                    JOIN abide.mailbox AS b ON b.id = r.id AND b.nonce = r.nonce AND b.lease_until > v_now);
    UPDATE abide.mailbox
    SET lease_until = greatest(lease_until, v_now + p_extend_ms), due = greatest(lease_until, v_now + p_extend_ms)
    WHERE id = ANY (v_held);
    RETURN ARRAY(SELECT CASE WHEN r.id = ANY (v_held) THEN 'ok' ELSE 'lost' END
                 FROM unnest(p_mailboxes) WITH ORDINALITY AS r (id, place) ORDER BY r.place);
END $$;

CREATE FUNCTION abide.renew_work(p_work bigint[], p_nonces uuid[], p_extend_ms bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_held bigint[];
    v_sessions text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM FROM abide.work AS w WHERE w.id = ANY (p_work) ORDER BY w.id FOR UPDATE;
    v_now := abide.now();
    v_held := ARRAY(SELECT w.id FROM unnest(p_work, p_nonces) AS r (id, nonce)
                    JOIN abide.work AS w ON w.id = r.id AND w.nonce = r.nonce AND w.lease_until > v_now);
    WITH renewed AS (
        UPDATE abide.work
        SET lease_until = greatest(lease_until, v_now + p_extend_ms), due = greatest(lease_until, v_now + p_extend_ms)
        WHERE id = ANY (v_held) RETURNING session
    )
    SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL) INTO v_sessions FROM renewed;
    IF v_sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions);
        UPDATE abide.session SET last_activity = v_now WHERE name = ANY (v_sessions) AND locked_until > v_now;
    END IF;
    RETURN ARRAY(SELECT CASE WHEN r.id = ANY (v_held) THEN 'ok' ELSE 'lost' END
                 FROM unnest(p_work) WITH ORDINALITY AS r (id, place) ORDER BY r.place);
END $$;

-- p_delays_ms is null where there is no delay; p_uncounted where the lease does not count as an attempt.
CREATE FUNCTION abide.abandon_instances(
    p_mailboxes bigint[], p_nonces uuid[], p_delays_ms bigint[], p_uncounted boolean[],
    OUT outcomes text[], OUT wakes boolean, OUT due bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_held bigint[];
BEGIN
    PERFORM FROM abide.mailbox AS b WHERE b.id = ANY (p_mailboxes) ORDER BY b.id FOR UPDATE;
    v_now := abide.now();
    v_held := ARRAY(SELECT b.id FROM unnest(p_mailboxes, p_nonces) AS a (id, nonce)
                    JOIN abide.mailbox AS b ON b.id = a.id AND b.nonce = a.nonce AND b.lease_until > v_now);
    UPDATE abide.message AS m
    SET attempts = m.attempts + (NOT a.uncounted)::integer, visible_at = v_now + a.delay
    FROM unnest(p_mailboxes, p_delays_ms, p_uncounted) AS a (id, delay, uncounted)
    JOIN abide.mailbox AS b ON b.id = a.id
    WHERE b.id = ANY (v_held)
      AND m.mailbox = b.id AND (m.place <= b.batch_to OR m.place = b.batch_first)
      AND (a.delay IS NOT NULL OR NOT a.uncounted);
    UPDATE abide.mailbox
    SET nonce = NULL, lease_until = NULL, leased_by = NULL, batch_to = NULL, batch_first = NULL, due = NULL
    WHERE id = ANY (v_held);
    outcomes := ARRAY(SELECT CASE WHEN a.id = ANY (v_held) THEN 'ok' ELSE 'lost' END
                      FROM unnest(p_mailboxes) WITH ORDINALITY AS a (id, place) ORDER BY a.place);
    SELECT s.wakes, s.due INTO wakes, due FROM abide.settle(v_held) AS s;
END $$;

CREATE FUNCTION abide.abandon_work(
    p_work bigint[], p_nonces uuid[], p_delays_ms bigint[], p_uncounted boolean[], OUT outcomes text[], OUT tags text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_held bigint[];
    v_sessions text[];
BEGIN
    PERFORM FROM abide.work AS w WHERE w.id = ANY (p_work) ORDER BY w.id FOR UPDATE;
    v_now := abide.now();
    v_held := ARRAY(SELECT w.id FROM unnest(p_work, p_nonces) AS a (id, nonce)
                    JOIN abide.work AS w ON w.id = a.id AND w.nonce = a.nonce AND w.lease_until > v_now);
    WITH back AS (
        UPDATE abide.work AS w
        SET nonce = NULL, lease_until = NULL, leased_by = NULL,
            attempts = greatest(w.attempts - a.uncounted::integer, 0),
            ready = a.delay IS NULL, due = v_now + a.delay
        FROM unnest(p_work, p_delays_ms, p_uncounted) AS a (id, delay, uncounted)
        WHERE w.id = a.id AND w.id = ANY (v_held) RETURNING w.session, w.tag, w.ready
    )
    SELECT array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL),
           coalesce(array_agg(DISTINCT tag) FILTER (WHERE ready), '{}')
    INTO v_sessions, tags FROM back;
    IF v_sessions IS NOT NULL THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, NULL, v_now);
    END IF;
    outcomes := ARRAY(SELECT CASE WHEN a.id = ANY (v_held) THEN 'ok' ELSE 'lost' END
                      FROM unnest(p_work) WITH ORDINALITY AS a (id, place) ORDER BY a.place);
END $$;

------------------------------------------------------------------------------------------------------ unreadable rows

-- The server cannot tell whether an item can be read; the node can. Messages of its batch that it could not read are
-- hidden for a while, and die after ten attempts. 'empty' if nothing is left to hand out: the lease is gone.
CREATE FUNCTION abide.set_aside_messages(p_mailbox bigint, p_nonce uuid, p_ids bigint[])
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_box abide.mailbox;
BEGIN
    SELECT * INTO v_box FROM abide.mailbox AS b WHERE b.id = p_mailbox FOR UPDATE;
    v_now := abide.now();
    IF (v_box.nonce = p_nonce AND v_box.lease_until > v_now) IS NOT TRUE THEN
        RETURN 'lost';
    END IF;
    WITH dead AS (
        DELETE FROM abide.message AS m
        WHERE m.mailbox = p_mailbox AND m.place = ANY (p_ids) AND m.attempts >= 10 RETURNING m.*
    )
    INSERT INTO abide.dead_letter SELECT d.id, 'message', v_box.name, d.attempts + 1, d.item, v_now FROM dead AS d;
    UPDATE abide.message
    SET attempts = attempts + 1, visible_at = v_now + 1000 * least(power(2, attempts), 60)::bigint
    WHERE mailbox = p_mailbox AND place = ANY (p_ids);
    IF EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = p_mailbox
               AND (m.place <= v_box.batch_to OR m.place = v_box.batch_first)) THEN
        RETURN 'ok';
    END IF;
    UPDATE abide.mailbox
    SET nonce = NULL, lease_until = NULL, leased_by = NULL, batch_to = NULL, batch_first = NULL, due = NULL
    WHERE id = p_mailbox;
    PERFORM abide.settle(ARRAY[p_mailbox]);
    RETURN 'empty';
END $$;

-- The attempt of the work counted when it was leased. p_poison is what its instance is told when it dies.
CREATE FUNCTION abide.set_aside_work(p_work bigint, p_mailbox bigint, p_nonce uuid, p_poison text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_work abide.work;
BEGIN
    PERFORM abide.lock_mailboxes(ARRAY[p_mailbox], '{}', '{}');
    SELECT * INTO v_work FROM abide.work AS w WHERE w.id = p_work FOR UPDATE;
    v_now := abide.now();
    IF (v_work.nonce = p_nonce AND v_work.lease_until > v_now AND v_work.mailbox = p_mailbox) IS NOT TRUE THEN
        RETURN 'lost';
    ELSIF v_work.attempts > 10 THEN
        DELETE FROM abide.work WHERE id = p_work;
        INSERT INTO abide.dead_letter
        SELECT p_work, 'work', b.name, v_work.attempts, v_work.item, v_now
        FROM abide.mailbox AS b WHERE b.id = p_mailbox;
        INSERT INTO abide.message (mailbox, class, item) VALUES (p_mailbox, 'other', p_poison);
        PERFORM abide.settle(ARRAY[p_mailbox]);
        RETURN 'dead';
    END IF;
    UPDATE abide.work
    SET nonce = NULL, lease_until = NULL, leased_by = NULL,
        due = v_now + 1000 * least(power(2, attempts - 1), 60)::bigint
    WHERE id = p_work;
    RETURN 'ok';
END $$;

------------------------------------------------------------------------------------------------------------- sessions

CREATE FUNCTION abide.renew_sessions(p_owners text[], p_extend_ms bigint, p_idle_ms bigint)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_held text[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    v_held := ARRAY(SELECT s.name FROM abide.session AS s WHERE s.owner = ANY (p_owners) ORDER BY s.name FOR UPDATE);
    v_now := abide.now();
    v_held := ARRAY(SELECT s.name FROM abide.session AS s WHERE s.name = ANY (v_held)
                    AND s.locked_until > v_now AND s.last_activity > v_now - p_idle_ms);
    UPDATE abide.session SET locked_until = greatest(locked_until, v_now + p_extend_ms) WHERE name = ANY (v_held);
    PERFORM abide.settle_lanes(v_held, NULL, v_now);
    RETURN cardinality(v_held);
END $$;

-- Sessions that nobody owns and that have no work are forgotten. Those that were never claimed do not count.
CREATE FUNCTION abide.cleanup_sessions() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := abide.now();
    v_idle text[] := ARRAY(SELECT s.name FROM abide.session AS s
                           WHERE (s.locked_until > v_now) IS NOT TRUE
                             AND NOT EXISTS (SELECT FROM abide.work AS w WHERE w.session = s.name)
                           ORDER BY s.name FOR UPDATE SKIP LOCKED);
    v_count integer;
BEGIN
    -- Under the lock once more: work may have come while we looked.
    v_idle := ARRAY(SELECT n FROM unnest(v_idle) AS n
                    WHERE NOT EXISTS (SELECT FROM abide.work AS w WHERE w.session = n));
    DELETE FROM abide.lane WHERE session = ANY (v_idle);
    WITH gone AS (DELETE FROM abide.session WHERE name = ANY (v_idle) RETURNING last_activity)
    SELECT count(last_activity) INTO v_count FROM gone;
    RETURN v_count;
END $$;

------------------------------------------------------------------------------------------------------- administration

-- Deletes instances with everything they have, all or nothing. outcome is 'ok'; or 'unknown', 'running' or 'child' and
-- the name of the first that stands in the way.
CREATE FUNCTION abide.delete_instances(
    p_names text[], p_force boolean, OUT outcome text, OUT culprit text, OUT instances bigint, OUT executions bigint,
    OUT events bigint, OUT items bigint, OUT stolen text[], OUT because text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_boxes bigint[] := abide.lock_mailboxes('{}', '{}', p_names);
    v_work bigint[];
    v_sessions text[];
BEGIN
    v_work := ARRAY(SELECT w.id FROM abide.work AS w WHERE w.mailbox = ANY (v_boxes) ORDER BY w.id FOR UPDATE);
    SELECT c.outcome, c.name INTO outcome, culprit FROM (
        SELECT 'unknown', n COLLATE "C", 1 FROM unnest(p_names) AS n WHERE NOT EXISTS (
            SELECT FROM abide.mailbox AS b JOIN abide.instance AS i USING (id)
            WHERE i.name = n AND b.id = ANY (v_boxes) AND b.execution_id > 0)
        UNION ALL
        SELECT 'running', b.name, 2 FROM abide.mailbox AS b
        WHERE b.id = ANY (v_boxes) AND b.status = 'Running' AND NOT p_force
        UNION ALL
        SELECT 'child', i.name, 3 FROM abide.instance AS i WHERE i.parent = ANY (p_names) AND i.name <> ALL (p_names)
    ) AS c (outcome, name, rank) ORDER BY c.rank, c.name LIMIT 1;
    IF outcome IS NOT NULL THEN
        RETURN;
    END IF;

    outcome := 'ok';
    instances := cardinality(v_boxes);
    SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_sessions
    FROM abide.take_back(v_work, array_fill('deleted'::text, ARRAY[cardinality(v_work)])) AS g;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, NULL, abide.now());
    END IF;
    WITH gone AS (DELETE FROM abide.message AS m WHERE m.mailbox = ANY (v_boxes) RETURNING 1)
    SELECT count(*) + cardinality(v_work) INTO items FROM gone;
    WITH gone AS (DELETE FROM abide.history AS h WHERE h.mailbox = ANY (v_boxes) RETURNING h.count)
    SELECT coalesce(sum(count), 0) INTO events FROM gone;
    WITH gone AS (DELETE FROM abide.execution AS e WHERE e.mailbox = ANY (v_boxes) RETURNING 1)
    SELECT count(*) INTO executions FROM gone;
    DELETE FROM abide.kv WHERE mailbox = ANY (v_boxes);
    DELETE FROM abide.kv_delta WHERE mailbox = ANY (v_boxes);
    DELETE FROM abide.mailbox WHERE id = ANY (v_boxes);
    DELETE FROM abide.instance WHERE id = ANY (v_boxes);
END $$;

CREATE FUNCTION abide.prune_executions(
    p_name text, p_keep_last integer, p_completed_before bigint,
    OUT outcome text, OUT executions bigint, OUT events bigint, OUT stolen text[], OUT because text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_box bigint := (abide.lock_mailboxes('{}', '{}', ARRAY[p_name]))[1];
    v_pruned bigint[];
    v_work bigint[];
    v_sessions text[];
BEGIN
    v_pruned := ARRAY(SELECT e FROM abide.mailbox AS b
                      CROSS JOIN LATERAL abide.prunable(b.id, b.execution_id, p_keep_last, p_completed_before) AS e
                      WHERE b.id = v_box);
    IF NOT EXISTS (SELECT FROM abide.mailbox AS b WHERE b.id = v_box AND b.execution_id > 0) THEN
        outcome := 'unknown';
        RETURN;
    END IF;
    v_work := ARRAY(SELECT w.id FROM abide.work AS w WHERE w.mailbox = v_box AND w.execution_id = ANY (v_pruned)
                    ORDER BY w.id FOR UPDATE);
    outcome := 'ok';
    SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_sessions
    FROM abide.take_back(v_work, array_fill('deleted'::text, ARRAY[cardinality(v_work)])) AS g;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, NULL, abide.now());
    END IF;
    SELECT d.executions, d.events INTO executions, events
    FROM abide.drop_executions(array_fill(v_box, ARRAY[cardinality(v_pruned)]), v_pruned) AS d;
END $$;

-------------------------------------------------------------------------------------------------- waiting and telling

-- When to look again: a time in the past, or zero, if something that the caller may take is there already. (After an
-- empty fetch that means that another held it: look again at once, but not in a loop.) Null if only news can help. The
-- end of a session's lock counts where work waits behind it.
CREATE FUNCTION abide.next_due_instances(p_from text[], p_to text[]) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN cardinality(abide.ready_pins(p_from, p_to)) > 0 THEN 0
                ELSE (SELECT b.due FROM abide.mailbox AS b WHERE b.due IS NOT NULL ORDER BY b.due LIMIT 1) END
$$;

CREATE FUNCTION abide.next_due_work(p_tags text[], p_session_owner text) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN EXISTS (SELECT FROM unnest(coalesce(p_tags, abide.ready_tags())) AS t WHERE
                 EXISTS (SELECT FROM abide.work AS w WHERE w.tag = t AND w.place IS NOT NULL AND w.session IS NULL)
                 OR (p_session_owner IS NOT NULL AND
                     (EXISTS (SELECT FROM abide.lane AS l WHERE l.tag = t AND l.head IS NOT NULL AND l.holder IS NULL)
                      OR EXISTS (SELECT FROM abide.lane AS l
                                 WHERE l.holder = p_session_owner AND l.tag = t AND l.head IS NOT NULL)))) THEN 0
        ELSE least(
            (SELECT w.due FROM abide.work AS w WHERE w.due IS NOT NULL ORDER BY w.due LIMIT 1),
            (SELECT l.held_until FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.holder IS NOT NULL
             ORDER BY l.held_until LIMIT 1)) END
$$;

-- Tells the other nodes, in a transaction of its own: one that notifies takes a lock of the whole database to commit.
-- The caller gathers the news of many commits and sends them at once. A notice holds less than 8,000 bytes, so tokens
-- travel in pieces. Nothing depends on a notice: who missed one finds out by looking, or when it renews.
CREATE FUNCTION abide.tell(p_instances boolean, p_tags text[], p_stolen text[], p_because text[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_notice text;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF p_instances THEN
        PERFORM pg_notify('abide', 'instances');
    END IF;
    IF cardinality(p_tags) > 0 THEN
        PERFORM pg_notify('abide', 'work');
    END IF;
    FOR v_notice IN
        SELECT string_agg(s.because || ' ' || s.token, ',' ORDER BY s.place)
        FROM unnest(p_stolen, p_because) WITH ORDINALITY AS s (token, because, place) GROUP BY (s.place - 1) / 80
    LOOP
        PERFORM pg_notify('abide', 'stolen ' || v_notice);
    END LOOP;
END $$;

-------------------------------------------------------------------------------------------------------------- reading

-- Pieces of a history that hold events behind p_after. The first may begin before it.
CREATE FUNCTION abide.history_after(p_mailbox bigint, p_execution bigint, p_after bigint)
RETURNS SETOF text[] LANGUAGE sql STABLE AS $$
    SELECT h.events FROM abide.history AS h
    WHERE h.mailbox = p_mailbox AND h.execution_id = p_execution AND h.last_event_id > p_after ORDER BY h.last_event_id
$$;

-- The key-value store as people see it: the delta over the store. A snapshot for replay is abide.kv alone.
CREATE FUNCTION abide.kv_live(p_name text) RETURNS TABLE (key text, value text) LANGUAGE sql STABLE AS $$
    SELECT coalesce(d.key, k.key), CASE WHEN d.key IS NULL THEN k.value ELSE d.value END
    FROM (SELECT k.* FROM abide.kv AS k JOIN abide.instance AS i ON i.id = k.mailbox WHERE i.name = p_name) AS k
    FULL JOIN (SELECT d.* FROM abide.kv_delta AS d JOIN abide.instance AS i ON i.id = d.mailbox
               WHERE i.name = p_name) AS d ON d.key = k.key
    WHERE d.key IS NULL OR d.value IS NOT NULL
$$;

-- The size of an instance; no row if there is none.
CREATE FUNCTION abide.instance_stats(p_name text)
RETURNS TABLE (events bigint, bytes bigint, keys bigint, value_bytes bigint, first_event text) LANGUAGE sql STABLE AS $$
    SELECT (SELECT coalesce(sum(h.count), 0) FROM abide.history AS h
            WHERE h.mailbox = b.id AND h.execution_id = b.execution_id),
           (SELECT coalesce(sum(h.bytes), 0) FROM abide.history AS h
            WHERE h.mailbox = b.id AND h.execution_id = b.execution_id)::bigint,
           (SELECT count(*) FROM abide.kv_live(p_name)),
           (SELECT coalesce(sum(octet_length(v.value)), 0) FROM abide.kv_live(p_name) AS v),
           (SELECT h.events[1] FROM abide.history AS h
            WHERE h.mailbox = b.id AND h.execution_id = b.execution_id ORDER BY h.last_event_id LIMIT 1)
    FROM abide.mailbox AS b JOIN abide.instance AS i ON i.id = b.id WHERE i.name = p_name AND b.execution_id > 0
$$;
