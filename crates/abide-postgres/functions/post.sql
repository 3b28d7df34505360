-- Enqueues messages, in order, into mailboxes that are locked. p_living are instances from this call on. A queue message is dropped if
-- nobody is there to read it and nobody is about to start, or if whoever is there came after the mailboxes were locked. Says into which
-- mailboxes something came.
CREATE FUNCTION abide.post(p_messages abide.new_message[], p_locked bigint[], p_living bigint[], p_now bigint)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_into bigint[];
BEGIN
    WITH sent AS (
        INSERT INTO abide.message (mailbox, class, visible_at, execution, event, parent, item)
        SELECT i.no, m.class, CASE WHEN m.visible_at > p_now THEN m.visible_at END, m.execution, m.event, m.parent, m.item
        FROM unnest(p_messages) WITH ORDINALITY AS m (turn, recipient, class, visible_at, execution, event, parent, item, place)
        JOIN abide.instance AS i ON i.id = ANY (ARRAY[m.recipient])
        WHERE m.class <> 3 OR i.no = ANY (p_locked) AND (
                  i.no = ANY (p_living) OR abide.is_expected(i.no)
                  OR EXISTS (SELECT FROM unnest(p_messages) WITH ORDINALITY
                                 AS s (turn, recipient, class, visible_at, execution, event, parent, item, place)
                             WHERE s.recipient = m.recipient AND s.class IN (1, 2) AND s.place < m.place))
        ORDER BY m.place
        RETURNING mailbox
    )
    SELECT array_agg(DISTINCT s.mailbox) INTO v_into FROM sent AS s;
    RETURN v_into;
END $$;
