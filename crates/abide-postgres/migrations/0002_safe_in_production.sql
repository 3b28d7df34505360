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

-- Compatibility: the schema version of the oldest release that may work on the schema after this migration.
ALTER TABLE abide.migration ADD COLUMN oldest bigint;

-- Idempotency keys: which try of its step an activity is, and the event of the first one. Null in the first
-- try, and in rows of version 1.
ALTER TABLE abide.work ADD COLUMN first_try bigint, ADD COLUMN try_no integer;
ALTER TYPE abide.new_work ADD ATTRIBUTE first_try bigint, ADD ATTRIBUTE try_no integer;
ALTER TYPE abide.work_lease ADD ATTRIBUTE first_try bigint, ADD ATTRIBUTE try_no integer;

-- Starts of children tell who waits: beside the parent, the execution and the event that asked, in the
-- columns that timers use. So the parent can be told even if the item cannot be read.
DO $$
DECLARE
    v_start record;
BEGIN
    FOR v_start IN SELECT m.no, m.item FROM abide.message AS m WHERE m.class = 1 AND m.parent IS NOT NULL LOOP
        BEGIN
            UPDATE abide.message
            SET execution = (v_start.item::json -> 'StartOrchestration' ->> 'parent_execution_id')::bigint,
                event = (v_start.item::json -> 'StartOrchestration' ->> 'parent_id')::bigint
            WHERE no = v_start.no;
        EXCEPTION WHEN data_exception THEN
            NULL; -- It cannot be read: its parent is not told.
        END;
    END LOOP;
END $$;
