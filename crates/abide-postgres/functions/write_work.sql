-- Enqueues activities for mailboxes that are locked. Says under which tags there is work now; sessions and session_tags name the
-- lanes to settle.
CREATE FUNCTION abide.write_work(
    p_work abide.new_work[], OUT tags text[], OUT sessions text[], OUT session_tags text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH queued AS (
        INSERT INTO abide.work (mailbox, execution, activity, session, tag, item)
        SELECT i.no, w.execution, w.activity, w.session, w.tag, w.item
        FROM unnest(p_work) WITH ORDINALITY AS w (turn, instance, execution, activity, session, tag, item, place)
        JOIN abide.instance AS i ON i.id = ANY (ARRAY[w.instance])
        ORDER BY w.place
        RETURNING session, tag
    )
    SELECT coalesce(array_agg(DISTINCT tag), '{}'),
           coalesce(array_agg(session) FILTER (WHERE session IS NOT NULL), '{}'),
           coalesce(array_agg(tag) FILTER (WHERE session IS NOT NULL), '{}')
    INTO tags, sessions, session_tags FROM queued;
END $$;
