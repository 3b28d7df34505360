-- Everything a store keeps (docs/spec/store.md). Tables, indexes and types of arguments; the functions that use them are one
-- file each, in functions/. Released migrations are never edited. Every `abide.` becomes the name of the schema.
--
-- Readiness has a shape, not only an index. `ready` is set exactly while a mailbox can be leased, so an index over those rows
-- is the queue, and whatever cannot be leased (leased, hidden, idle, waiting for a start) is not in it. Time enters in one
-- place: what is hidden or leased is looked at when its time has come (come_due, work_come_due, sessions_come_due).
--
-- No foreign keys: they would lock rows in an order of their own. Texts of users are spelt without NUL (src/text.rs).

-- One counter for messages and work. A message is numbered under its mailbox's lock: a number that is lower is older.
CREATE SEQUENCE abide.number;
CREATE SEQUENCE abide.mailbox_number;

-- A name, and what is said about it: written when an instance starts, ends or changes its custom status, not by every turn.
-- It is an instance while it has a status.
CREATE TABLE abide.instance (
    no                    bigint PRIMARY KEY,
    id                    text COLLATE "C" NOT NULL,
    name                  text COLLATE "C" NOT NULL DEFAULT '',
    version               text COLLATE "C" NOT NULL DEFAULT 'unknown',
    status                text COLLATE "C" NOT NULL DEFAULT '',
    parent                text COLLATE "C",
    parent_execution      bigint,
    parent_event          bigint,
    is_root               boolean GENERATED ALWAYS AS (parent IS NULL) STORED,
    custom_status         text,
    custom_status_version bigint NOT NULL DEFAULT 0,
    created_at            bigint NOT NULL DEFAULT 0,
    completed_at          bigint,                         -- when it completed or failed
    has_past              boolean NOT NULL DEFAULT false  -- it is beyond its first execution
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX instance_id ON abide.instance (id);
-- For listings, which are in the order of creation, then of the number: how instances stand, whether they are roots, what they
-- run, whose children they are.
CREATE INDEX instance_status ON abide.instance (status, is_root, created_at, no)       WHERE status <> '';
CREATE INDEX instance_name   ON abide.instance (name, status, is_root, created_at, no) WHERE status <> '';
CREATE INDEX instance_parent ON abide.instance (parent, created_at, no)                         WHERE parent IS NOT NULL;
-- For removing what is old: roots that ended, children that ended, and instances with a past.
CREATE INDEX instance_ended_root  ON abide.instance (completed_at, no) WHERE completed_at IS NOT NULL AND parent IS NULL;
CREATE INDEX instance_ended_child ON abide.instance (completed_at, no) WHERE completed_at IS NOT NULL AND parent IS NOT NULL;
CREATE INDEX instance_with_past   ON abide.instance (created_at, no)   WHERE has_past;

-- Everything about an instance that a turn changes, in one narrow row: its position, its lease, and whether it can be
-- leased. This row is the lock of the instance. Its indexes are few, because changing "ready" or "due_at" writes to each.
CREATE TABLE abide.mailbox (
    no           bigint PRIMARY KEY,
    id           text COLLATE "C" NOT NULL,
    execution    bigint NOT NULL DEFAULT 0,               -- zero: not an instance yet
    last_event   bigint NOT NULL DEFAULT 0,
    status       text COLLATE "C" NOT NULL DEFAULT '',
    pin          text COLLATE "C" NOT NULL DEFAULT '',
    updated_at   bigint NOT NULL DEFAULT 0,
    unbroken     bigint NOT NULL DEFAULT 1,               -- no execution is missing from this one on
    lease        bigint,                                  -- the nonce of the token
    leased_until bigint,
    batch_to     bigint,                                  -- the lease handed out the visible messages up to here,
    batch_first  bigint,                                  -- and this one, which starts an execution
    ready        bigint,                                  -- its lowest visible message, while it can be leased
    due_at       bigint                                   -- when that may change: the end of the lease, else the next hidden message
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX mailbox_ready ON abide.mailbox (pin, ready) WHERE ready IS NOT NULL;
CREATE INDEX mailbox_due   ON abide.mailbox (due_at)     WHERE due_at IS NOT NULL;

CREATE TABLE abide.execution (
    mailbox      bigint NOT NULL,
    no           bigint NOT NULL,
    status       text COLLATE "C" NOT NULL DEFAULT 'Running',
    output       text,
    pin          text COLLATE "C" NOT NULL DEFAULT '',
    started_at   bigint NOT NULL,
    completed_at bigint,
    PRIMARY KEY (mailbox, no)
);
CREATE INDEX execution_ended ON abide.execution (mailbox, completed_at) WHERE completed_at IS NOT NULL;

-- A row per turn, appended (docs/adr/0005-history-a-row-per-turn.md). The events are a JSON array.
CREATE TABLE abide.turn (
    mailbox     bigint NOT NULL,
    execution   bigint NOT NULL,
    first_event bigint NOT NULL,
    last_event  bigint NOT NULL,
    length      bigint NOT NULL,                          -- how many events
    events      text NOT NULL
);
-- With the length, so that counting events reads no events.
CREATE UNIQUE INDEX turn_of_execution ON abide.turn (mailbox, execution, last_event) INCLUDE (length);

-- "Visible" is a state, not a time: visible_at is null. Hidden messages are shown by come_due, once and for good.
--
-- "place" repeats the number of what can be had, here and in abide.work. Ordered by the number itself, a fetch may be
-- planned as a walk along the primary key, past everything that cannot be had; no other index offers this order.
CREATE TABLE abide.message (
    no         bigint PRIMARY KEY DEFAULT nextval('abide.number'),
    mailbox    bigint NOT NULL,
    class      smallint NOT NULL,                         -- 0 other, 1 start, 2 continue-as-new, 3 queue, 4 timer
    visible_at bigint,
    place      bigint GENERATED ALWAYS AS (CASE WHEN visible_at IS NULL THEN no END) STORED,
    execution  bigint,                                    -- of a timer
    event      bigint,                                    -- of a timer
    parent     text COLLATE "C",                          -- of the start of a child
    attempts   integer NOT NULL DEFAULT 0,
    item       text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX message_visible ON abide.message (mailbox, place)            WHERE place IS NOT NULL;
-- With the class, so that counting those that wait for somebody reads no messages.
CREATE INDEX message_hidden  ON abide.message (mailbox, visible_at) INCLUDE (class) WHERE visible_at IS NOT NULL;
CREATE INDEX message_start   ON abide.message (mailbox, place)            WHERE class IN (1, 2);
CREATE INDEX message_timer   ON abide.message (mailbox, execution, event) WHERE class = 4;
CREATE INDEX message_child   ON abide.message (parent)                    WHERE parent IS NOT NULL;

-- A tag is spelt '' if there is none and '=name' otherwise.
CREATE TABLE abide.work (
    no           bigint PRIMARY KEY DEFAULT nextval('abide.number'),
    mailbox      bigint NOT NULL,
    execution    bigint NOT NULL,
    activity     bigint NOT NULL,
    tag          text COLLATE "C" NOT NULL DEFAULT '',
    session      text COLLATE "C",
    maker        bigint,                                  -- the node that has its instance in memory, by a number it chose
    attempts     integer NOT NULL DEFAULT 0,
    lease        bigint,                                  -- the nonce of the token
    leased_until bigint,
    due_at       bigint,                                  -- when it becomes ready: the end of the lease or of the delay
    place        bigint GENERATED ALWAYS AS (CASE WHEN due_at IS NULL THEN no END) STORED,
    item         text NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX work_ready        ON abide.work (tag, place)                    WHERE place IS NOT NULL AND session IS NULL;
CREATE INDEX work_in_session   ON abide.work (session, tag, place)           WHERE session IS NOT NULL;
CREATE INDEX work_due          ON abide.work (due_at)                        WHERE due_at IS NOT NULL;
CREATE INDEX work_of_execution ON abide.work (mailbox, execution, activity);

-- Who owns a session. A row that was made to be locked, and never claimed, has no owner and no activity.
CREATE TABLE abide.session (
    name           text COLLATE "C" PRIMARY KEY,
    owner          text COLLATE "C",
    locked_until   bigint,
    last_active_at bigint,
    claims         bigint NOT NULL DEFAULT 0              -- how often it was leased from: says whether one claim is still the last
);
CREATE INDEX session_owner  ON abide.session (owner)        WHERE owner IS NOT NULL;
CREATE INDEX session_locked ON abide.session (locked_until) WHERE locked_until IS NOT NULL;

-- What waits in a session under one tag. Work of a session is found through its lane, so that a million rows of sessions that
-- belong to others cost nothing. Holder and time repeat the session's.
CREATE TABLE abide.lane (
    session    text COLLATE "C" NOT NULL,
    tag        text COLLATE "C" NOT NULL,
    head       bigint,                                    -- the lowest work that is ready
    holder     text COLLATE "C",
    held_until bigint,
    PRIMARY KEY (session, tag)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX lane_free ON abide.lane (tag, head)         WHERE head IS NOT NULL AND holder IS NULL;
CREATE INDEX lane_held ON abide.lane (holder, tag, head) WHERE head IS NOT NULL AND holder IS NOT NULL;
CREATE INDEX lane_due  ON abide.lane (held_until)        WHERE head IS NOT NULL AND held_until IS NOT NULL;

-- What finished executions left.
CREATE TABLE abide.kv_store (
    mailbox    bigint NOT NULL,
    key        text COLLATE "C" NOT NULL,
    value      text NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (mailbox, key)
);

-- What the current execution changed; no value is a tombstone.
CREATE TABLE abide.kv_delta (
    mailbox    bigint NOT NULL,
    key        text COLLATE "C" NOT NULL,
    value      text,
    updated_at bigint NOT NULL,
    PRIMARY KEY (mailbox, key)
);

-- Requests that must not be done twice.
CREATE TABLE abide.request (
    key     bytea PRIMARY KEY,
    seen_at bigint NOT NULL
);
CREATE INDEX request_seen ON abide.request (seen_at);

-- Rows that could not be read, as they were.
CREATE TABLE abide.dead_letter (
    no       bigint PRIMARY KEY,
    queue    text NOT NULL,
    instance text COLLATE "C" NOT NULL,
    attempts integer NOT NULL,
    dead_at  bigint NOT NULL,
    item     text NOT NULL
);
CREATE INDEX dead_letter_of ON abide.dead_letter (instance);

-- A batch is an array of turns, and arrays of the work and the messages they make, and of the work they take back; "turn" says to which turn
-- of the batch a row belongs, counted from one.
CREATE TYPE abide.new_value AS (key text, value text, updated_at bigint);
CREATE TYPE abide.new_turn AS (
    turn               integer,
    instance           text,      -- null if the caller did not say
    authority          text,      -- 'lease', 'work' (a fused step), or 'none' (to give an instance a past)
    mailbox            bigint,    -- from the token
    nonce              bigint,    -- from the token
    work               bigint,    -- of a fused step: from the token
    expected_mailbox   bigint,    -- of a fused step: where the instance must stand
    expected_execution bigint,
    expected_event     bigint,
    consumes_all       boolean,   -- all that its lease handed out
    consumed           bigint[],  -- or these messages of it
    creates            boolean,
    execution          bigint,
    first_event        bigint,
    last_event         bigint,
    length             bigint,
    events             text,
    name               text,
    version            text,
    parent             text,
    parent_execution   bigint,
    parent_event       bigint,
    pin                text,
    status             text,
    output             text,
    sets_custom_status boolean,
    custom_status      text,
    clears_kv          boolean,
    changes            abide.new_value[],
    folds_kv           boolean,
    ends_timers        boolean,   -- all of its execution
    timers             bigint[],  -- or those that these events asked for
    keeps              bigint,    -- of a prune: how many executions stay; null if nothing is pruned
    ended_before       bigint     -- of a prune
);
CREATE TYPE abide.numbered AS (turn integer, number bigint);
-- The instance is null if it is that of the turn. rank counts those that somebody waits for, from one.
CREATE TYPE abide.new_work AS (
    turn integer, instance text, execution bigint, activity bigint, session text, tag text, rank integer, item text
);
CREATE TYPE abide.revoked_work AS (turn integer, instance text, execution bigint, activity bigint, because text);
CREATE TYPE abide.new_message AS (
    turn integer, recipient text, class smallint, visible_at bigint, execution bigint, event bigint, parent text, item text
);

-- What a lease hands out.
CREATE TYPE abide.instance_lease AS (
    mailbox bigint, nonce bigint, instance text, execution bigint, last_event bigint, status text, name text, version text,
    parent text, parent_execution bigint, parent_event bigint
);
CREATE TYPE abide.leased_message AS (mailbox bigint, number bigint, attempts integer, item text);
CREATE TYPE abide.work_lease AS (
    work bigint, mailbox bigint, nonce bigint, attempts integer, instance text, execution bigint, activity bigint, name text,
    version text, item text, session text, claim bigint, former_owner text, former_lock bigint,
    former_activity bigint
);

-- What the turns of a call are like, found by whoever makes it. mailboxes: of each turn, if it is known. required are the instances that
-- must be there but are known by their names only, optional those that mail for is dropped if they are not; whoever tells himself something
-- is known by his turn. work: activities that turns use up. node: whose call it is. names: a turn has no lease, and names its instance;
-- consumes_some: one names messages that it uses up; prunes: one prunes executions; writes_kv: one changes its key-value store; timers: one
-- removes timers. Most of what a call may do is not to be done by most, and left out by this.
CREATE TYPE abide.outline AS (
    mailboxes bigint[], required text[], optional text[], work bigint[], node bigint, names boolean, consumes_some boolean,
    prunes boolean, writes_kv boolean, timers boolean
);

-- Calls that wait, and what they would take of what a call makes: at most so many, under these terms. No list of pins
-- takes all; near says whose work comes first, leaves_above above which number that of others is left to them.
CREATE TYPE abide.instance_offer AS (lease_ms bigint, nonces bigint[], pins text[]);
CREATE TYPE abide.work_offer AS (lease_ms bigint, nonces bigint[], tags text[], near bigint, leaves_above bigint);
