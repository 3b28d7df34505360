-- Safe in production: what the stores of the first release lack. Released migrations are never edited.

-- Deletion by tombstone (docs/adr/0019-deletion-by-tombstone.md). A deleted mailbox with many rows leaves its number here. Nothing
-- reads the rows of that number any more, and the writer removes them a few at a time. The number goes when no row is left.
CREATE TABLE tombstone (
    mailbox    INTEGER PRIMARY KEY,
    held_until INTEGER NOT NULL      -- its rows stay until then, so that the caller of the deletion can count them
) STRICT;
CREATE INDEX tombstone_due ON tombstone (held_until);

-- Compatibility ---------------------------------------------------------------------------------------------------------

-- The schema version of the oldest release that may work on this file. One row, written by every migration.
CREATE TABLE compatibility (oldest INTEGER NOT NULL) STRICT;

-- Under another name, so that a process of version 1 cannot register: it may have read the version of the file before
-- this migration.
ALTER TABLE owner RENAME COLUMN lock_file TO file;

-- Set by a process whose SQLite is too old for several connections: while it lives, no other may work on the file.
ALTER TABLE owner ADD COLUMN is_alone INTEGER NOT NULL DEFAULT 0;

-- Serving, blocked instances, and nodes (docs/spec/store.md).
--
-- What a ready row needs of the node that leases it is its route: an interned number at the head of the readiness
-- indexes, so that rows of routes that a node does not serve cost it nothing. Routes are only ever added; the counter
-- tells the last one, so that a process knows when another has added some.

CREATE TABLE route (
    no            INTEGER PRIMARY KEY,
    orchestration TEXT    NOT NULL,     -- empty: no code is needed
    version       TEXT    NOT NULL,
    pin           TEXT    NOT NULL,
    refused       TEXT    NOT NULL,     -- a JSON array of builds; '' is none, '*' all
    is_suspect    INTEGER NOT NULL,
    has_cancel    INTEGER NOT NULL,
    UNIQUE (orchestration, version, pin, refused, is_suspect, has_cancel)
) STRICT;
INSERT INTO route VALUES (1, '', '', '', '', 0, 0);

-- A name is stored with a leading '=', as tags are: what cannot be read is the empty text.
CREATE TABLE work_route (
    no         INTEGER PRIMARY KEY,
    activity   TEXT    NOT NULL,
    tag        TEXT    NOT NULL,
    is_suspect INTEGER NOT NULL,
    UNIQUE (activity, tag, is_suspect)
) STRICT;

-- Cancels have a class of their own: 5.
UPDATE message SET class = 5
WHERE class = 0 AND CASE WHEN json_valid(item) THEN json_type(item, '$.CancelInstance') IS NOT NULL END;
-- So have results of activities and answers of children: 6. They need an instance that waits for them.
UPDATE message SET class = 6
WHERE class = 0 AND CASE WHEN json_valid(item) THEN
    coalesce(json_type(item, '$.ActivityCompleted'), json_type(item, '$.ActivityFailed'),
             json_type(item, '$.SubOrchCompleted'), json_type(item, '$.SubOrchFailed')) IS NOT NULL END;
CREATE INDEX message_cancel ON message (mailbox, visible_at) WHERE class = 5;

ALTER TABLE mailbox ADD COLUMN route INTEGER NOT NULL DEFAULT 1;
-- 1: it has a row in `block`, 2: it may hold a cancel, 4: its mail waits for a start
ALTER TABLE mailbox ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;

CREATE TABLE old_route (
    mailbox       INTEGER PRIMARY KEY,
    orchestration TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    pin           TEXT    NOT NULL,
    is_suspect    INTEGER NOT NULL,
    has_cancel    INTEGER NOT NULL
) STRICT;
WITH starter AS (
    SELECT m.no AS mailbox, (
        SELECT s.item FROM message AS s
        WHERE s.mailbox = m.no AND s.visible_at = 0 AND s.class IN (1, 2) AND (m.execution = 0 OR s.class = 2)
          AND json_valid(s.item)
        ORDER BY s.no LIMIT 1) AS item
    FROM mailbox AS m
)
INSERT INTO old_route
SELECT m.no,
       CASE WHEN m.execution > 0 AND m.status = 'Running' THEN m.name
            WHEN m.execution = 0 OR m.status = 'ContinuedAsNew' THEN coalesce(
                json_extract(s.item, '$.StartOrchestration.orchestration'),
                json_extract(s.item, '$.ContinueAsNew.orchestration'), '')
            ELSE '' END,
       CASE WHEN m.execution > 0 AND m.status = 'Running' THEN m.version
            WHEN (m.execution = 0 OR m.status = 'ContinuedAsNew') AND s.item IS NOT NULL THEN coalesce(
                json_extract(s.item, '$.StartOrchestration.version'),
                json_extract(s.item, '$.ContinueAsNew.version'), 'unknown')
            ELSE '' END,
       m.pin,
       coalesce((SELECT attempts >= 3 FROM message WHERE mailbox = m.no AND visible_at = 0 ORDER BY no LIMIT 1), 0),
       EXISTS (SELECT 1 FROM message WHERE mailbox = m.no AND visible_at = 0 AND class = 5)
FROM mailbox AS m JOIN starter AS s ON s.mailbox = m.no;
INSERT OR IGNORE INTO route (orchestration, version, pin, refused, is_suspect, has_cancel)
SELECT DISTINCT orchestration, version, pin, '', is_suspect, has_cancel FROM old_route;
UPDATE mailbox SET
    route = (SELECT r.no FROM old_route AS o JOIN route AS r USING (orchestration, version, pin, is_suspect, has_cancel)
             WHERE o.mailbox = mailbox.no AND r.refused = ''),
    flags = CASE WHEN EXISTS (SELECT 1 FROM message WHERE mailbox = mailbox.no AND class = 5) THEN 2 ELSE 0 END;
DROP TABLE old_route;

-- Mail that waits for a start is gone an hour after it became visible. That of version 1 waits from now on. The time means nothing once
-- the mailbox does not wait any more: clearing it then would make a start cost the more, the more mail there is.
ALTER TABLE message ADD COLUMN expires_at INTEGER;
UPDATE message SET expires_at = max(visible_at, CAST(strftime('%s', 'now') AS INTEGER) * 1000) + 3600000
WHERE mailbox IN (
    SELECT m.no FROM mailbox AS m
    WHERE m.execution = 0 AND NOT EXISTS (SELECT 1 FROM message AS s WHERE s.mailbox = m.no AND s.class IN (1, 2)));
UPDATE mailbox SET flags = flags | 4 WHERE no IN (SELECT mailbox FROM message WHERE expires_at IS NOT NULL);
CREATE INDEX message_waiting ON message (mailbox, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX message_expiry  ON message (expires_at)          WHERE expires_at IS NOT NULL;

DROP INDEX mailbox_ready;
CREATE INDEX mailbox_ready ON mailbox (route, ready) WHERE ready IS NOT NULL;

ALTER TABLE work ADD COLUMN route INTEGER NOT NULL DEFAULT 0;
ALTER TABLE work ADD COLUMN held_since  INTEGER; -- set while nobody may lease it
ALTER TABLE work ADD COLUMN held_detail TEXT;
ALTER TABLE work ADD COLUMN held_build  TEXT;
INSERT OR IGNORE INTO work_route (activity, tag, is_suspect)
SELECT DISTINCT coalesce('=' || CASE WHEN json_valid(item) THEN json_extract(item, '$.ActivityExecute.name') END, ''), tag,
       CASE WHEN json_valid(item) THEN attempts >= 3 ELSE 0 END
FROM work;
UPDATE work SET route = coalesce((
    SELECT r.no FROM work_route AS r
    WHERE r.activity = coalesce('=' || CASE WHEN json_valid(item) THEN json_extract(item, '$.ActivityExecute.name') END, '')
      AND r.tag = work.tag AND r.is_suspect = CASE WHEN json_valid(item) THEN attempts >= 3 ELSE 0 END), 0);

DROP INDEX work_ready;
DROP INDEX work_in_session;
CREATE INDEX work_ready ON work (route, no)
    WHERE visible_at = 0 AND lease IS NULL AND session IS NULL AND held_since IS NULL;
CREATE INDEX work_in_session ON work (session, route, no)
    WHERE visible_at = 0 AND lease IS NULL AND session IS NOT NULL AND held_since IS NULL;
CREATE INDEX work_held    ON work (held_since)            WHERE held_since IS NOT NULL;
CREATE INDEX work_held_of ON work (mailbox, activity, no) WHERE held_since IS NOT NULL;

-- The work of a session that can be leased, now one row per route.
DROP TABLE lane;
CREATE TABLE lane (
    session TEXT    NOT NULL,
    route   INTEGER NOT NULL,
    holder  TEXT    NOT NULL,
    head    INTEGER NOT NULL,
    PRIMARY KEY (session, route)
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_open ON lane (route, holder, head);
INSERT INTO lane
SELECT w.session, w.route, coalesce((SELECT '=' || owner FROM session WHERE name = w.session AND held = 1), ''), min(w.no)
FROM work AS w
WHERE w.visible_at = 0 AND w.lease IS NULL AND w.session IS NOT NULL
GROUP BY w.session, w.route;

-- What the instance waits for, as its last turn said: a JSON array (docs/spec/store.md).
ALTER TABLE mailbox ADD COLUMN waiting TEXT;

-- The builds that refused an execution, and what blocks it; `kind` is missing once another build has healed it.
CREATE TABLE block (
    mailbox     INTEGER PRIMARY KEY,
    execution   INTEGER NOT NULL,
    refused     TEXT    NOT NULL,       -- as in `route`
    retry_after INTEGER,                -- milliseconds; missing is never
    retry_at    INTEGER,                -- when those builds may try again, while mail waits; 0 once that time has come
    kind        TEXT,
    since       INTEGER NOT NULL,
    detail      TEXT    NOT NULL,
    build       TEXT    NOT NULL,
    event       INTEGER
) STRICT;
CREATE INDEX block_since ON block (since) WHERE kind IS NOT NULL;

-- Whether the lease is an attempt if it is lost. That of a crash suspect is none until its code runs.
ALTER TABLE mailbox ADD COLUMN lease_counts INTEGER NOT NULL DEFAULT 1;
ALTER TABLE work    ADD COLUMN lease_counts INTEGER NOT NULL DEFAULT 1;

-- Nodes of the processes in `owner`, as they announced themselves. What a node serves is JSON.
CREATE TABLE node (
    id         TEXT    PRIMARY KEY,
    owner      INTEGER NOT NULL,
    said       TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX node_owner ON node (owner);

-- The routes that were given out last.
ALTER TABLE counter ADD COLUMN route      INTEGER NOT NULL DEFAULT 0;
ALTER TABLE counter ADD COLUMN work_route INTEGER NOT NULL DEFAULT 0;
UPDATE counter SET route = (SELECT max(no) FROM route), work_route = (SELECT coalesce(max(no), 0) FROM work_route);

-- Idempotency keys ------------------------------------------------------------------------------------------

-- Which try of its step an activity is, and the event of the first one. NULL in the first try, and in rows of
-- version 1.
ALTER TABLE work ADD COLUMN first_try INTEGER;
ALTER TABLE work ADD COLUMN try_no INTEGER;

-- Starts of children tell who waits: beside the parent, the execution and the event that asked, in the
-- columns that timers use. So the parent can be told even if the item cannot be read.
UPDATE message SET execution = json_extract(item, '$.StartOrchestration.parent_execution_id'),
                   event = json_extract(item, '$.StartOrchestration.parent_id')
WHERE class = 1 AND parent IS NOT NULL AND json_valid(item);
