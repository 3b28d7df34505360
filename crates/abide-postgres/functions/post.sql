-- Enqueues messages, in order, into mailboxes that are locked, and says into which. p_living are instances
-- from this call on. A queue message, a timer or an answer (class 3, 4 or 6) is dropped if there is no such
-- instance and none is about to start, or if it came after the mailboxes were locked. Other messages wait for
-- a start then, for an hour from the time at which they are visible (MAIL_WAITS_FOR_START); unstarted are the
-- mailboxes of these. If a start comes with them, abide.settle will find it. dropped has the turns of the
-- messages that were dropped; it is null if all were kept.
CREATE FUNCTION abide.post(
    p_messages abide.new_message[], p_locked bigint[], p_living bigint[], p_now bigint, OUT mailed bigint[], OUT unstarted bigint[],
    OUT dropped integer[]
) LANGUAGE plpgsql AS $$
DECLARE
    v_one abide.new_message;
    v_messages abide.new_message[] := p_messages;
    v_canceled bigint[];
BEGIN
    IF cardinality(p_messages) = 1 THEN
        v_one := p_messages[1];
        INSERT INTO abide.message (mailbox, class, visible_at, execution, event, parent, item, code, expires_at)
        SELECT i.no, v_one.class, CASE WHEN v_one.visible_at > p_now THEN v_one.visible_at END, v_one.execution, v_one.event,
               v_one.parent, v_one.item, CASE WHEN v_one.class IN (1, 2) THEN abide.route_no(v_one.orchestration, v_one.version, '', '') END,
               CASE WHEN v_one.class IN (0, 5) AND length(i.status) = 0 AND (i.no = ANY (p_living)) IS NOT TRUE
                    THEN CASE WHEN NOT abide.is_expected(i.no) THEN greatest(v_one.visible_at, p_now) + 3600000 END END
        FROM abide.instance AS i
        WHERE i.id = v_one.recipient
          AND (v_one.class NOT IN (3, 4, 6)
               OR i.no = ANY (p_locked) AND (length(i.status) > 0 OR i.no = ANY (p_living) OR abide.is_expected(i.no)))
        RETURNING ARRAY[mailbox], CASE WHEN expires_at IS NOT NULL THEN ARRAY[mailbox] END INTO mailed, unstarted;
        IF mailed IS NULL THEN
            dropped := ARRAY[v_one.turn];
        END IF;
        IF v_one.class = 5 THEN
            UPDATE abide.mailbox AS b SET flags = b.flags | 2 WHERE b.no = ANY (mailed) AND b.flags & 2 = 0;
        END IF;
        IF unstarted IS NOT NULL THEN
            UPDATE abide.mailbox AS b SET flags = b.flags | 4 WHERE b.no = ANY (unstarted) AND b.flags & 4 = 0;
        END IF;
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM unnest(p_messages) AS m WHERE m.class IN (3, 4, 6)) THEN
        v_messages := ARRAY(
            SELECT ROW (m.turn, m.recipient, m.class, m.visible_at, m.execution, m.event, m.parent, m.item, m.orchestration, m.version)
                   ::abide.new_message
            FROM (SELECT m.*, bool_or(m.class IN (1, 2)) OVER (PARTITION BY m.recipient ORDER BY m.place) AS starts
                  FROM unnest(p_messages) WITH ORDINALITY
                       AS m (turn, recipient, class, visible_at, execution, event, parent, item, orchestration, version, place)) AS m
            LEFT JOIN abide.instance AS i ON i.id = ANY (ARRAY[m.recipient])
            -- "Is true" keeps these from becoming joins, which would compare each with each.
            WHERE m.class NOT IN (3, 4, 6) OR (i.no IN (SELECT unnest(p_locked))) IS TRUE
                  AND (m.starts OR length(i.status) > 0 OR (i.no IN (SELECT unnest(p_living))) IS TRUE OR abide.is_expected(i.no))
            ORDER BY m.place);
        IF cardinality(v_messages) < cardinality(p_messages) THEN
            dropped := ARRAY(SELECT m.turn FROM unnest(p_messages) AS m EXCEPT SELECT m.turn FROM unnest(v_messages) AS m);
        END IF;
    END IF;
    WITH sent AS (
        INSERT INTO abide.message (mailbox, class, visible_at, execution, event, parent, item, code, expires_at)
        SELECT i.no, m.class, CASE WHEN m.visible_at > p_now THEN m.visible_at END, m.execution, m.event, m.parent, m.item,
               CASE WHEN m.class IN (1, 2) THEN abide.route_no(m.orchestration, m.version, '', '') END,
               CASE WHEN m.class IN (0, 5) AND length(i.status) = 0 AND (i.no = ANY (p_living)) IS NOT TRUE
                    THEN CASE WHEN NOT abide.is_expected(i.no) THEN greatest(m.visible_at, p_now) + 3600000 END END
        FROM unnest(v_messages) WITH ORDINALITY
             AS m (turn, recipient, class, visible_at, execution, event, parent, item, orchestration, version, place)
        JOIN abide.instance AS i ON i.id = ANY (ARRAY[m.recipient])
        ORDER BY m.place
        RETURNING mailbox, class, expires_at
    )
    SELECT array_agg(DISTINCT s.mailbox), array_agg(DISTINCT s.mailbox) FILTER (WHERE s.class = 5),
           array_agg(DISTINCT s.mailbox) FILTER (WHERE s.expires_at IS NOT NULL)
    INTO mailed, v_canceled, unstarted FROM sent AS s;
    IF v_canceled IS NOT NULL THEN
        UPDATE abide.mailbox AS b SET flags = b.flags | 2 WHERE b.no = ANY (v_canceled) AND b.flags & 2 = 0;
    END IF;
    IF unstarted IS NOT NULL THEN
        UPDATE abide.mailbox AS b SET flags = b.flags | 4 WHERE b.no = ANY (unstarted) AND b.flags & 4 = 0;
    END IF;
END $$;
