-- Enqueues messages, in order, into mailboxes that are locked. A queue message is dropped if nobody is there to read it and nobody is
-- about to start. p_living are instances from this call on.
CREATE FUNCTION abide.post(p_messages abide.new_message[], p_locked bigint[], p_living bigint[], p_now bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abide.message (mailbox, class, visible_at, execution, event, parent, item)
    SELECT b.no, m.class, CASE WHEN m.visible_at > p_now THEN m.visible_at END, m.execution, m.event, m.parent, m.item
    FROM (SELECT m.*, bool_or(m.class IN (1, 2)) OVER (PARTITION BY m.recipient ORDER BY m.place) AS starts
          FROM unnest(p_messages) WITH ORDINALITY
               AS m (turn, recipient, class, visible_at, execution, event, parent, item, place)) AS m
    JOIN abide.instance AS i ON i.id = ANY (ARRAY[m.recipient])
    JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
    -- "Is true" keeps these from becoming joins, which would compare each with each.
    WHERE (b.no IN (SELECT unnest(p_locked))) IS TRUE
      AND (m.class <> 3 OR b.execution > 0 OR (b.no IN (SELECT unnest(p_living))) IS TRUE OR m.starts
           OR (SELECT true FROM abide.message AS s WHERE s.mailbox = b.no AND s.class IN (1, 2) ORDER BY s.place LIMIT 1))
    ORDER BY m.place;
END $$;
