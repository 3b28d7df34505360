-- Makes mailboxes for names that have none, and says which it made. They are numbered in the order in which they are first mentioned, and
-- written in the order of the names: two calls that make the same ones must not wait for each other. Before anything is locked.
CREATE FUNCTION abide.register(p_ids text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_missing text[] := ARRAY(
        SELECT n.id FROM unnest(p_ids) WITH ORDINALITY AS n (id, place)
        WHERE (SELECT i.no FROM abide.instance AS i WHERE i.id = n.id) IS NULL GROUP BY n.id ORDER BY min(n.place));
    v_made bigint[] := '{}';
BEGIN
    IF cardinality(v_missing) > 0 THEN
        WITH numbered AS MATERIALIZED (
            SELECT nextval('abide.mailbox_number') AS no, m.id COLLATE "C" AS id
            FROM (SELECT m.id FROM unnest(v_missing) WITH ORDINALITY AS m (id, place) ORDER BY m.place) AS m
        ), named AS (
            INSERT INTO abide.instance (no, id) SELECT n.no, n.id FROM numbered AS n ORDER BY n.id
            ON CONFLICT (id) DO NOTHING RETURNING no, id
        ), boxed AS (
            INSERT INTO abide.mailbox (no, id) SELECT no, id FROM named RETURNING no
        )
        SELECT coalesce(array_agg(no), '{}') INTO v_made FROM boxed;
    END IF;
    RETURN v_made;
END $$;
