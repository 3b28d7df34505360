-- Removes some starts of children of these parents that were not yet born: at most p_most. items is how many
-- messages went; more says whether others may be left. The parents of a tree that is deleted in parts lose
-- them first.
CREATE FUNCTION abide.delete_unborn(
    p_parents text[], p_most bigint, OUT items bigint, OUT more boolean, OUT wakes bigint[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_found bigint[] := ARRAY(SELECT u.no FROM abide.unborn(p_parents) AS u LIMIT p_most);
    v_locked bigint[];
    v_dropped record;
BEGIN
    more := cardinality(v_found) >= p_most;
    v_locked := abide.lock_mailboxes(ARRAY(SELECT m.mailbox FROM abide.message AS m WHERE m.no = ANY (v_found)), '{}', '{}');
    -- One that is born meanwhile is not there any more.
    v_dropped := abide.drop_unborn(
        ARRAY(SELECT m.no FROM abide.message AS m WHERE m.no = ANY (v_found) AND (m.mailbox = ANY (v_locked)) IS TRUE), abide.now());
    items := v_dropped.items;    wakes := v_dropped.wakes;    due_at := v_dropped.due_at;
END $$;
