-- Looks at up to p_rows messages whose time is over, but for those of mailboxes that somebody is at: removes those that have waited for a
-- start for too long, with the mailboxes that hold nothing else, and keeps those that wait no more. Says how many they were.
CREATE FUNCTION abide.remove_expired(p_rows bigint, p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_found bigint[] := ARRAY(SELECT m.mailbox FROM abide.message AS m WHERE m.expires_at <= p_now ORDER BY m.expires_at LIMIT p_rows);
    v_locked bigint[] := ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (v_found) ORDER BY b.no FOR UPDATE SKIP LOCKED);
    v_waiting bigint[] := ARRAY(
        SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (v_locked) AND b.flags & 4 = 4 AND b.execution = 0
            AND (SELECT true FROM abide.message AS s WHERE s.mailbox = b.no AND s.class IN (1, 2) ORDER BY s.place LIMIT 1) IS NULL);
    v_empty bigint[];
    v_gone bigint;    v_kept bigint;
BEGIN
    DELETE FROM abide.message WHERE ctid = ANY (ARRAY(
        SELECT m.ctid FROM abide.message AS m WHERE m.expires_at <= p_now AND (m.mailbox = ANY (v_waiting)) IS TRUE
        ORDER BY m.expires_at LIMIT p_rows));
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    UPDATE abide.message SET expires_at = NULL WHERE ctid = ANY (ARRAY(
        SELECT m.ctid FROM abide.message AS m
        WHERE m.expires_at <= p_now AND (m.mailbox = ANY (v_locked)) IS TRUE AND (m.mailbox = ANY (v_waiting)) IS NOT TRUE
        ORDER BY m.expires_at LIMIT p_rows));
    GET DIAGNOSTICS v_kept = ROW_COUNT;
    v_empty := ARRAY(
        SELECT l.no FROM unnest(v_waiting) AS l (no)
        WHERE (SELECT true FROM abide.message AS m WHERE m.mailbox = l.no AND m.place IS NOT NULL ORDER BY m.place LIMIT 1) IS NULL
          AND (SELECT true FROM abide.message AS m WHERE m.mailbox = l.no AND m.visible_at IS NOT NULL ORDER BY m.visible_at LIMIT 1) IS NULL
          AND (SELECT true FROM abide.work AS k WHERE k.mailbox = l.no ORDER BY k.execution LIMIT 1) IS NULL);
    DELETE FROM abide.mailbox AS b WHERE b.no = ANY (v_empty);
    DELETE FROM abide.instance AS i WHERE i.no = ANY (v_empty);
    RETURN v_gone + v_kept;
END $$;
