-- Enqueues activities for mailboxes that are locked: that of their turn, p_mailboxes[turn], or one that is named. Says under which tags there is work now; sessions and session_tags name the
-- lanes to settle.
CREATE FUNCTION abide.write_work(
    p_work abide.new_work[], p_mailboxes bigint[], OUT tags text[], OUT sessions text[], OUT session_tags text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH queued AS (
        INSERT INTO abide.work (mailbox, execution, activity, session, tag, item)
        SELECT CASE WHEN w.instance IS NULL THEN p_mailboxes[w.turn]
                    ELSE (SELECT i.no FROM abide.instance AS i WHERE i.id = w.instance) END,
               w.execution, w.activity, w.session, w.tag, w.item
        FROM unnest(p_work) WITH ORDINALITY AS w (turn, instance, execution, activity, session, tag, item, place)
        ORDER BY w.place
        RETURNING session, tag
    )
    SELECT coalesce(array_agg(DISTINCT tag), '{}'),
           coalesce(array_agg(session) FILTER (WHERE session IS NOT NULL), '{}'),
           coalesce(array_agg(tag) FILTER (WHERE session IS NOT NULL), '{}')
    INTO tags, sessions, session_tags FROM queued;
END $$;
