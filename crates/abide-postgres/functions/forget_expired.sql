-- Removes mail that has waited for a start for too long from mailboxes, which are locked, and those that hold nothing else. Names among these
-- that the caller must find get a new mailbox. Says which are there now. However much such mail there is: that of a mailbox that goes is removed
-- in parts, like that of a deleted instance.
CREATE FUNCTION abide.forget_expired(p_mailboxes bigint[], p_required text[], p_now bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    -- The flag alone does not tell: it is cleared only when the mailbox is settled.
    v_waiting bigint[] := ARRAY(
        SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) AND b.flags & 4 = 4 AND b.execution = 0
            AND (SELECT true FROM abide.message AS s WHERE s.mailbox = b.no AND s.class IN (1, 2) ORDER BY s.place LIMIT 1) IS NULL);
    v_over bigint[] := ARRAY(
        SELECT w.no FROM unnest(v_waiting) AS w (no)
        WHERE (SELECT true FROM abide.message AS m WHERE m.mailbox = w.no AND m.expires_at > p_now
               ORDER BY m.expires_at LIMIT 1) IS NULL
          AND (SELECT true FROM abide.work AS k WHERE k.mailbox = w.no ORDER BY k.execution LIMIT 1) IS NULL);
    v_names text[];
BEGIN
    IF cardinality(v_over) > 0 THEN
        v_names := ARRAY(SELECT b.id FROM abide.mailbox AS b WHERE b.no = ANY (v_over));
        INSERT INTO abide.tombstone (mailbox, held_until) SELECT o, 0 FROM unnest(v_over) AS o;
        DELETE FROM abide.mailbox AS b WHERE b.no = ANY (v_over);
        DELETE FROM abide.instance AS i WHERE i.no = ANY (v_over);
    END IF;
    IF cardinality(v_over) < cardinality(v_waiting) THEN
        DELETE FROM abide.message AS m WHERE m.mailbox = ANY (v_waiting) AND m.mailbox <> ALL (v_over) AND m.expires_at <= p_now;
    END IF;
    RETURN ARRAY(SELECT m FROM unnest(p_mailboxes) AS m WHERE m <> ALL (v_over))
        || CASE WHEN v_names && p_required
                THEN abide.register(ARRAY(SELECT r.id FROM unnest(p_required) WITH ORDINALITY AS r (id, place)
                                          WHERE r.id = ANY (v_names) ORDER BY r.place))
                ELSE '{}' END;
END $$;
