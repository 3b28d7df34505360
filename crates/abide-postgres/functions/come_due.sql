-- Shows what has become visible, voids leases that ran out (their messages count one attempt more, unless it is a
-- suspect's whose code did not run), and opens instances to the builds that
-- refused them when it is time. At most a thousand mailboxes at a time; whoever fetches next goes on.
CREATE FUNCTION abide.come_due(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_due bigint[] := ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.due_at <= p_now
                            ORDER BY b.due_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
    v_refused bigint[];
BEGIN
    IF cardinality(v_due) = 0 THEN
        RETURN;
    END IF;
    UPDATE abide.message AS m SET attempts = m.attempts + 1
    FROM abide.mailbox AS b CROSS JOIN LATERAL abide.batch(b.no, b.batch_to, b.batch_first, b.batch_cancel) AS handed_out (no)
    WHERE b.no = ANY (v_due) AND b.lease IS NOT NULL AND b.lease_counts AND m.no = ANY (ARRAY[handed_out.no]);
    UPDATE abide.mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL, batch_cancel = NULL
    WHERE no = ANY (v_due) AND lease IS NOT NULL;
    v_refused := ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (v_due) AND b.flags & 1 = 1);
    IF cardinality(v_refused) > 0 THEN
        -- The first mail to become visible starts the clock, at the time at which it did.
        UPDATE abide.block AS k
        SET retry_at = abide.later((SELECT m.visible_at FROM abide.message AS m WHERE m.mailbox = k.mailbox AND m.visible_at IS NOT NULL
                                    ORDER BY m.visible_at LIMIT 1), k.retry_after)
        WHERE k.mailbox = ANY (v_refused) AND k.retry_at IS NULL AND k.retry_after IS NOT NULL AND NOT k.is_open
          AND (SELECT m.visible_at FROM abide.message AS m WHERE m.mailbox = k.mailbox AND m.visible_at IS NOT NULL
               ORDER BY m.visible_at LIMIT 1) <= p_now;
        UPDATE abide.block AS k SET retry_at = NULL, is_open = true WHERE k.mailbox = ANY (v_refused) AND k.retry_at <= p_now;
    END IF;
    UPDATE abide.message SET visible_at = NULL WHERE mailbox = ANY (v_due) AND visible_at <= p_now;
    PERFORM abide.settle(v_due, NULL, p_now);
END $$;
