-- Mailboxes, which are locked, may have lost what was to start them. What is left in those that have waits for another start from now on: an
-- hour from the time at which it is visible (MAIL_WAITS_FOR_START). What blocked the start is over.
CREATE FUNCTION abide.await_start(p_mailboxes bigint[], p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_left bigint[] := ARRAY(
        SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) AND b.execution = 0
            AND (SELECT true FROM abide.message AS s WHERE s.mailbox = b.no AND s.class IN (1, 2) ORDER BY s.place LIMIT 1) IS NULL);
    v_waiting bigint[];
BEGIN
    IF cardinality(v_left) = 0 THEN
        RETURN;
    END IF;
    DELETE FROM abide.block AS k WHERE k.mailbox = ANY (v_left);
    WITH visible AS (
        UPDATE abide.message AS m SET expires_at = p_now + 3600000
        WHERE m.mailbox = ANY (v_left) AND m.place IS NOT NULL RETURNING m.mailbox
    ), hidden AS (
        UPDATE abide.message AS m SET expires_at = greatest(m.visible_at, p_now) + 3600000
        WHERE m.mailbox = ANY (v_left) AND m.visible_at IS NOT NULL RETURNING m.mailbox
    )
    SELECT array_agg(w.mailbox) INTO v_waiting FROM (SELECT mailbox FROM visible UNION SELECT mailbox FROM hidden) AS w;
    UPDATE abide.mailbox AS b SET flags = b.flags | 4 WHERE b.no = ANY (v_waiting) AND b.flags & 4 = 0;
END $$;
