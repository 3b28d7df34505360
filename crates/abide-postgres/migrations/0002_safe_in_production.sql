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

-- Compatibility: the schema version of the oldest release that may work on the schema after this migration.
ALTER TABLE abide.migration ADD COLUMN oldest bigint;
