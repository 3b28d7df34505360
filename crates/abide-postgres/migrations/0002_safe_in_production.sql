-- Safe in production: what the stores of the first schema lack. The functions in functions/ follow it.
-- Every `abide.` becomes the name of the schema.

-- The functions of migration 1 go first: several change their signature, and none is called any more.
DO $$
DECLARE
    v_function regprocedure;
BEGIN
    FOR v_function IN
        SELECT p.oid FROM pg_proc AS p JOIN pg_class AS c ON c.relnamespace = p.pronamespace
        WHERE c.oid = 'abide.mailbox'::regclass
    LOOP
        EXECUTE 'DROP FUNCTION ' || v_function;
    END LOOP;
END $$;

-- Deletion by tombstone (docs/adr/0019-deletion-by-tombstone.md). A deleted mailbox with many rows leaves its number here. Nothing
-- reads the rows of that number any more, and the nodes remove them a few at a time. The number goes when no row is left.
CREATE TABLE abide.tombstone (
    mailbox    bigint PRIMARY KEY,
    held_until bigint NOT NULL    -- its rows stay until then, so that the caller of the deletion can count them
);
CREATE INDEX tombstone_due ON abide.tombstone (held_until);

-- What the instance waits for, as its last turn said: a JSON array (docs/spec/store.md).
ALTER TABLE abide.mailbox ADD COLUMN waiting text;
ALTER TYPE abide.new_turn ADD ATTRIBUTE waiting text;

-- Compatibility: the schema version of the oldest release that may work on the schema after this migration.
ALTER TABLE abide.migration ADD COLUMN oldest bigint;

-- Serving, blocked instances and nodes (docs/spec/store.md).
--
-- What a ready row needs of the node that leases it is its route, a number at the head of the readiness indexes: rows of
-- routes that a node does not serve cost it nothing. Routes are only ever added, under a lock, so that their numbers have no
-- gaps and are seen in order: a node that knows a route knows all those before it (abide.new_route).
--
-- The column of a ready mailbox holds twice the number of its route, plus 1 if it is a suspect, and marks: 2^38 if it has a pin,
-- 2^39 if builds refused it, 2^40 if a cancel is visible. That of work holds twice the number of its route, plus 1 if it
-- is a suspect, plus 2^38 if it has a tag. Many calls take what has no such mark, whatever the route is.
CREATE TABLE abide.route (
    no            bigint PRIMARY KEY,
    orchestration text COLLATE "C" NOT NULL,    -- empty: no code is needed
    version       text COLLATE "C" NOT NULL,
    pin           text COLLATE "C" NOT NULL,
    refused       text COLLATE "C" NOT NULL,    -- a JSON array of builds; '' is none, '*' all
    -- Texts may be too long for an index.
    key           bigint GENERATED ALWAYS AS (
        hashtextextended(orchestration || E'\x02' || version || E'\x02' || pin || E'\x02' || refused, 0)) STORED
);
CREATE INDEX route_key ON abide.route (key);
-- What needs no code, and an instance whose name was never told.
INSERT INTO abide.route (no, orchestration, version, pin, refused) VALUES (1, '', '', '', ''), (2, '', 'unknown', '', '');

CREATE TABLE abide.work_route (
    no       bigint PRIMARY KEY,
    activity text COLLATE "C" NOT NULL,         -- its name behind a '='; empty if the activity cannot be read
    tag      text COLLATE "C" NOT NULL,
    key      bigint GENERATED ALWAYS AS (hashtextextended(activity || E'\x02' || tag, 0)) STORED
);
CREATE INDEX work_route_key ON abide.work_route (key);
-- For the rehearsals of sessions.
INSERT INTO abide.work_route (no, activity, tag) VALUES (1, '', 'rehearsal');

-- Cancels have a class of their own: 5.
UPDATE abide.message SET class = 5 WHERE class = 0 AND starts_with(item, '{"CancelInstance":');
-- So have results of activities and answers of children: 6. They need an instance that waits for them.
UPDATE abide.message SET class = 6
WHERE class = 0 AND (starts_with(item, '{"ActivityCompleted":') OR starts_with(item, '{"ActivityFailed":')
                     OR starts_with(item, '{"SubOrchCompleted":') OR starts_with(item, '{"SubOrchFailed":'));
CREATE INDEX message_cancel ON abide.message (mailbox, place) WHERE class = 5;
-- The lease handed out this one, too: a cancel behind all those for which it has room.
ALTER TABLE abide.mailbox ADD COLUMN batch_cancel bigint;
-- The route of what a start runs, without a pin; null if the message cannot be read.
ALTER TABLE abide.message ADD COLUMN code bigint;

-- route: zero until it is needed. flags: 1, it has a row in abide.block; 2, it may hold a cancel; 4, its mail waits for a start.
ALTER TABLE abide.mailbox ADD COLUMN route bigint NOT NULL DEFAULT 0, ADD COLUMN flags smallint NOT NULL DEFAULT 0;
DROP INDEX abide.mailbox_ready;
CREATE INDEX mailbox_ready ON abide.mailbox (route, ready) WHERE ready IS NOT NULL;

-- Mail that waits for a start is gone an hour after it became visible. The time means nothing once the mailbox does not wait any more: clearing
-- it then would make a start cost the more, the more mail there is.
ALTER TABLE abide.message ADD COLUMN expires_at bigint;
CREATE INDEX message_waiting ON abide.message (mailbox, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX message_expiry  ON abide.message (expires_at)          WHERE expires_at IS NOT NULL;

-- Work that is held is due at the end of time, and in no index of what is due. What was found to be unreadable is no suspect.
ALTER TABLE abide.work
    ADD COLUMN route bigint NOT NULL DEFAULT 0, ADD COLUMN is_unreadable boolean NOT NULL DEFAULT false,
    ADD COLUMN held_since bigint, ADD COLUMN held_detail text, ADD COLUMN held_build text;
DROP INDEX abide.work_ready, abide.work_in_session, abide.work_due;
CREATE INDEX work_ready      ON abide.work (route, place)          WHERE place IS NOT NULL AND session IS NULL;
CREATE INDEX work_in_session ON abide.work (session, route, place) WHERE session IS NOT NULL;
CREATE INDEX work_due        ON abide.work (due_at)                WHERE due_at IS NOT NULL AND held_since IS NULL;
-- Their conditions differ, so that a query for one mailbox cannot read the held work of all.
CREATE INDEX work_held       ON abide.work (held_since)            WHERE held_since > 0;
CREATE INDEX work_held_of    ON abide.work (mailbox, activity, no) WHERE held_since IS NOT NULL;

-- Whether the lease is an attempt if it is lost. That of a crash suspect is none until its code runs.
ALTER TABLE abide.mailbox ADD COLUMN lease_counts boolean NOT NULL DEFAULT true;
ALTER TABLE abide.work    ADD COLUMN lease_counts boolean NOT NULL DEFAULT true;

-- What waits in a session under one route.
DROP TABLE abide.lane;
CREATE TABLE abide.lane (
    session    text COLLATE "C" NOT NULL,
    route      bigint NOT NULL,
    head       bigint,                                    -- the lowest work that is ready
    holder     text COLLATE "C",
    held_until bigint,
    PRIMARY KEY (session, route)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX lane_free ON abide.lane (route, head)         WHERE head IS NOT NULL AND holder IS NULL;
CREATE INDEX lane_held ON abide.lane (holder, route, head) WHERE head IS NOT NULL AND holder IS NOT NULL;
CREATE INDEX lane_due  ON abide.lane (held_until)          WHERE head IS NOT NULL AND held_until IS NOT NULL;

-- The builds that refused an execution, and what blocks it.
CREATE TABLE abide.block (
    mailbox     bigint PRIMARY KEY,
    execution   bigint NOT NULL,
    refused     text COLLATE "C" NOT NULL,                -- as in abide.route
    retry_after bigint,                                   -- milliseconds; null is never
    retry_at    bigint,                                   -- when those builds may try again, while mail waits
    is_open     boolean NOT NULL DEFAULT false,           -- that time has come
    kind        text COLLATE "C",                         -- null once another build has healed it
    since       bigint NOT NULL,
    detail      text NOT NULL,
    build       text NOT NULL,
    event       bigint
);
CREATE INDEX block_since ON abide.block (since) WHERE kind IS NOT NULL;

-- Nodes as they announced themselves. owner is the number of the store that a node works through: it is held as a lock by the
-- session in which that store listens, so a node lives while the lock is held (src/node/company.rs).
CREATE TABLE abide.node (
    id         text COLLATE "C" PRIMARY KEY,
    owner      bigint NOT NULL,
    said       text NOT NULL,                             -- JSON
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL
);
CREATE INDEX node_owner ON abide.node (owner);

-- The builds that refuse an execution from now on, as in abide.route; null leaves them as they are.
ALTER TYPE abide.new_turn ADD ATTRIBUTE still_refused text;

-- Arguments. A start says what it runs, and an activity how it is called; a lease tells what blocks its instance.
ALTER TYPE abide.new_message ADD ATTRIBUTE orchestration text, ADD ATTRIBUTE version text;
ALTER TYPE abide.new_work ADD ATTRIBUTE name text;
ALTER TYPE abide.instance_lease ADD ATTRIBUTE block abide.block;

-- The route of a mailbox, when that may change, and what it is like.
CREATE TYPE abide.routing AS (route bigint, retry_at bigint, flags smallint);

-- Which routes a call takes of those up to "known", which are all that its node knows; null is all of them. It also takes all routes
-- without these marks; null if it takes no others. suspects: how many it takes at most; null is any number.
DROP TYPE abide.instance_offer;
CREATE TYPE abide.instance_offer AS (lease_ms bigint, nonces bigint[], routes bigint[], known bigint, marks bigint, suspects integer);
-- What calls that wait take of new work is told by its rank. suspects: whether they take those beside others.
DROP TYPE abide.work_offer;
CREATE TYPE abide.work_offer AS (lease_ms bigint, nonces bigint[], near bigint, leaves_above bigint, suspects boolean);

-- Idempotency keys: which try of its step an activity is, and the event of the first one. Null in the first
-- try, and in rows of version 1.
ALTER TABLE abide.work ADD COLUMN first_try bigint, ADD COLUMN try_no integer;
ALTER TYPE abide.new_work ADD ATTRIBUTE first_try bigint, ADD ATTRIBUTE try_no integer;
ALTER TYPE abide.work_lease ADD ATTRIBUTE first_try bigint, ADD ATTRIBUTE try_no integer;
