-- Everything a store keeps (docs/spec/store.md). Tables and indexes only; released migrations are never edited.
--
-- Numbers instead of names: a mailbox is found by its name once and by its number from then on, and a number is
-- never used again, so it also tells a deleted instance from its successor.
--
-- Readiness has a shape, not only an index. `ready` is set exactly while a mailbox can be leased, so an index over
-- those rows is the queue, and whatever cannot be leased (leased, hidden, idle, waiting for a start) is not in it.
-- Time enters in one place: what is hidden or leased is promoted when its time has come (src/store/promote.rs).

-- One row. The numbers that were given out last.
CREATE TABLE counter (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    number   INTEGER NOT NULL,
    mailbox  INTEGER NOT NULL
) STRICT;
INSERT INTO counter VALUES (1, 0, 0);

-- A name that received mail, work or a commit. It is an instance while `execution` is above zero.
CREATE TABLE mailbox (
    no               INTEGER PRIMARY KEY,
    id               TEXT    NOT NULL,
    execution        INTEGER NOT NULL DEFAULT 0,
    last_event       INTEGER NOT NULL DEFAULT 0,
    status           TEXT    NOT NULL DEFAULT '',
    pin              TEXT    NOT NULL DEFAULT '',
    name             TEXT    NOT NULL DEFAULT '',
    version          TEXT    NOT NULL DEFAULT 'unknown',
    parent           TEXT,
    parent_execution INTEGER,
    parent_event     INTEGER,
    created_at       INTEGER NOT NULL DEFAULT 0,
    updated_at       INTEGER NOT NULL DEFAULT 0,
    completed_at     INTEGER,           -- when it completed or failed
    unbroken         INTEGER NOT NULL DEFAULT 1, -- no execution is missing from this one on
    ready            INTEGER,           -- its lowest visible message, while it can be leased
    due_at           INTEGER,           -- when its next hidden message becomes visible
    lease            INTEGER,           -- the nonce of the token
    leased_until     INTEGER,
    owner            INTEGER,
    batch            TEXT               -- the messages that the lease handed out
) STRICT;
CREATE UNIQUE INDEX mailbox_id ON mailbox (id);
CREATE INDEX mailbox_ready  ON mailbox (pin, ready)      WHERE ready IS NOT NULL;
CREATE INDEX mailbox_due    ON mailbox (due_at)          WHERE due_at IS NOT NULL AND lease IS NULL;
CREATE INDEX mailbox_leased ON mailbox (leased_until)    WHERE lease IS NOT NULL;
-- For listings, which are in the order of creation (and, as in every index, of the number): how instances stand, whether they
-- are roots, what they run, whose children they are.
CREATE INDEX mailbox_status ON mailbox (status, parent IS NULL, created_at)       WHERE execution > 0;
CREATE INDEX mailbox_name   ON mailbox (name, status, parent IS NULL, created_at) WHERE execution > 0;
CREATE INDEX mailbox_parent ON mailbox (parent, created_at)                       WHERE parent IS NOT NULL;
-- For removing what is old: roots that ended, children that ended, and instances with a past.
CREATE INDEX mailbox_ended_root  ON mailbox (completed_at) WHERE completed_at IS NOT NULL AND parent IS NULL;
CREATE INDEX mailbox_ended_child ON mailbox (completed_at) WHERE completed_at IS NOT NULL AND parent IS NOT NULL;
CREATE INDEX mailbox_continued   ON mailbox (created_at)   WHERE execution > 1;

-- Visible messages have `visible_at = 0`: once visible, a message does not depend on the clock any more.
CREATE TABLE message (
    mailbox    INTEGER NOT NULL,
    visible_at INTEGER NOT NULL,
    no         INTEGER NOT NULL,
    class      INTEGER NOT NULL,        -- 0 other, 1 start, 2 continue-as-new, 3 queue, 4 timer
    execution  INTEGER,                 -- of a timer
    event      INTEGER,                 -- of a timer
    parent     TEXT,                    -- of the start of a child
    attempts   INTEGER NOT NULL DEFAULT 0,
    item       TEXT    NOT NULL,
    PRIMARY KEY (mailbox, visible_at, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_start ON message (mailbox, visible_at, no)    WHERE class IN (1, 2);
CREATE INDEX message_timer ON message (mailbox, execution, event)  WHERE class = 4;
CREATE INDEX message_child ON message (parent)                     WHERE parent IS NOT NULL;

-- A tag is stored with a leading '=', so that no tag at all is the empty text.
CREATE TABLE work (
    mailbox      INTEGER NOT NULL,
    execution    INTEGER NOT NULL,
    activity     INTEGER NOT NULL,
    no           INTEGER NOT NULL,
    tag          TEXT    NOT NULL,
    session      TEXT,
    visible_at   INTEGER NOT NULL DEFAULT 0,
    attempts     INTEGER NOT NULL DEFAULT 0,
    lease        INTEGER,
    leased_until INTEGER,
    owner        INTEGER,
    item         TEXT    NOT NULL,
    PRIMARY KEY (mailbox, execution, activity, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_ready      ON work (tag, no)          WHERE visible_at = 0 AND lease IS NULL AND session IS NULL;
CREATE INDEX work_in_session ON work (session, tag, no) WHERE visible_at = 0 AND lease IS NULL AND session IS NOT NULL;
CREATE INDEX work_hidden     ON work (visible_at)       WHERE visible_at > 0 AND lease IS NULL;
CREATE INDEX work_leased     ON work (leased_until)     WHERE lease IS NOT NULL;
CREATE INDEX work_of_session ON work (session)          WHERE session IS NOT NULL;

-- Who owns a session. `held` is set until the lock's end has been noticed.
CREATE TABLE session (
    name           TEXT    PRIMARY KEY,
    owner          TEXT    NOT NULL,
    locked_until   INTEGER NOT NULL,
    last_active_at INTEGER NOT NULL,
    held           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_held  ON session (locked_until) WHERE held = 1;
CREATE INDEX session_owner ON session (owner);

-- The work of a session that can be leased, as one row per tag: its lowest number, and who may take it. The holder
-- is empty while the session is free, else '=' and its owner.
CREATE TABLE lane (
    session TEXT    NOT NULL,
    tag     TEXT    NOT NULL,
    holder  TEXT    NOT NULL,
    head    INTEGER NOT NULL,
    PRIMARY KEY (session, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX lane_open ON lane (tag, holder, head);

-- A row per turn, appended (docs/adr/0005-history-a-row-per-turn.md). The events are a JSON array.
CREATE TABLE turn (
    no          INTEGER PRIMARY KEY,
    mailbox     INTEGER NOT NULL,
    execution   INTEGER NOT NULL,
    first_event INTEGER NOT NULL,
    last_event  INTEGER NOT NULL,
    length      INTEGER NOT NULL,       -- how many events
    events      TEXT    NOT NULL
) STRICT;
-- With the length, so that counting events reads no events. A turn written twice is refused here, too; that no event is
-- appended twice is checked by every commit.
CREATE UNIQUE INDEX turn_of_execution ON turn (mailbox, execution, first_event, length);

CREATE TABLE execution (
    mailbox      INTEGER NOT NULL,
    no           INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    output       TEXT,
    pin          TEXT    NOT NULL DEFAULT '',
    started_at   INTEGER NOT NULL,
    completed_at INTEGER,
    PRIMARY KEY (mailbox, no)
) STRICT, WITHOUT ROWID;
CREATE INDEX execution_ended ON execution (mailbox, completed_at) WHERE completed_at IS NOT NULL;

CREATE TABLE custom_status (
    mailbox INTEGER PRIMARY KEY,
    value   TEXT,
    version INTEGER NOT NULL
) STRICT;

-- What finished executions left.
CREATE TABLE kv_store (
    mailbox    INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (mailbox, key)
) STRICT, WITHOUT ROWID;

-- What the current execution changed; no value is a tombstone.
CREATE TABLE kv_delta (
    mailbox    INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    value      TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (mailbox, key)
) STRICT, WITHOUT ROWID;

-- Requests that must not be done twice.
CREATE TABLE request (
    key     BLOB    PRIMARY KEY,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX request_seen ON request (seen_at);

-- Rows that could not be read, as they were.
CREATE TABLE dead_letter (
    no       INTEGER PRIMARY KEY,
    queue    TEXT    NOT NULL,
    instance TEXT    NOT NULL,
    attempts INTEGER NOT NULL,
    dead_at  INTEGER NOT NULL,
    item     ANY
) STRICT;
CREATE INDEX dead_letter_of ON dead_letter (instance);

-- Processes that work on this file. Each holds the named file locked while it lives.
CREATE TABLE owner (
    no        INTEGER PRIMARY KEY AUTOINCREMENT,
    lock_file TEXT    NOT NULL
) STRICT;
