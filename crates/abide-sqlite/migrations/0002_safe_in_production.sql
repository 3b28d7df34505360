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

-- Idempotency keys --------------------------------------------------------------------------------------------------------

-- Which try of its step an activity is, and the event of the first one. NULL in the first try, and in rows of version 1.
ALTER TABLE work ADD COLUMN first_try INTEGER;
ALTER TABLE work ADD COLUMN try_no INTEGER;
