-- Shows what has become visible, and voids leases that ran out: their messages count one attempt more. At most a thousand
-- mailboxes at a time; whoever fetches next goes on.
CREATE FUNCTION abide.come_due(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.due_at <= p_now
                            ORDER BY b.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
BEGIN
    IF cardinality(v_due) = 0 THEN
        RETURN;
    END IF;
    UPDATE abide.message AS m SET attempts = m.attempts + 1
    FROM abide.mailbox AS b CROSS JOIN LATERAL abide.batch(b.no, b.batch_to, b.batch_first) AS handed_out (no)
    WHERE b.no = ANY (v_due) AND b.lease IS NOT NULL AND m.no = ANY (ARRAY[handed_out.no]);
    UPDATE abide.mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL
    WHERE no = ANY (v_due) AND lease IS NOT NULL;
    UPDATE abide.message SET visible_at = NULL WHERE mailbox = ANY (v_due) AND visible_at <= p_now;
    PERFORM abide.settle(v_due, NULL, p_now);
END $$;
