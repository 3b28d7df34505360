-- The server cannot tell whether an item can be read; the node can. Messages of a lease that it could not
-- read count an attempt and are hidden for a while, or die with the eleventh; the others are handed out
-- again, under the same lease. If nothing is left to hand out, the lease is gone. Says which messages died.
-- The death of p_lost[n], which would have started an execution, is told to the instance p_parents[n] by the
-- message p_told[n]; p_counts is that of abide.hand_out; wakes has the routes under which those can be leased.
CREATE FUNCTION abide.set_messages_aside(
    p_mailbox bigint, p_nonce bigint, p_messages bigint[], p_lost bigint[], p_parents text[], p_told text[], p_counts boolean,
    OUT dead bigint[], OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT wakes bigint[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_mailbox abide.mailbox;
    v_settled record;
    v_locked bigint[] := abide.lock_mailboxes(ARRAY[p_mailbox], '{}', p_parents);
    v_told bigint[];
BEGIN
    SELECT * INTO v_mailbox FROM abide.mailbox AS b WHERE b.no = p_mailbox;
    v_now := abide.now();
    -- However short the lease was: while the nonce is there, nobody else has it.
    IF (v_mailbox.lease = p_nonce) IS NOT TRUE THEN
        RETURN;
    END IF;
    WITH dying AS (
        DELETE FROM abide.message AS m
        WHERE m.no = ANY (p_messages) AND m.mailbox = p_mailbox AND m.attempts >= 10 RETURNING m.no, m.attempts, m.item
    ), buried AS (
        INSERT INTO abide.dead_letter (no, queue, instance, attempts, dead_at, item)
        SELECT d.no, 'message', v_mailbox.id, d.attempts + 1, v_now, d.item FROM dying AS d RETURNING no
    )
    SELECT array_agg(no) INTO dead FROM buried;
    IF cardinality(p_lost) > 0 AND cardinality(dead) > 0 THEN
        WITH sent AS (
            INSERT INTO abide.message (mailbox, class, item)
            SELECT b.no, 6, l.item
            FROM unnest(p_lost, p_parents, p_told) AS l (no, parent, item)
            JOIN abide.instance AS i ON i.id = ANY (ARRAY[l.parent])
            JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
            WHERE l.no = ANY (dead) AND b.no = ANY (v_locked) AND b.execution > 0
            RETURNING mailbox
        )
        SELECT array_agg(DISTINCT s.mailbox) INTO v_told FROM sent AS s;
        v_settled := abide.settle(coalesce(v_told, '{}'), NULL, v_now);
        wakes := v_settled.wakes;
    END IF;
    UPDATE abide.message AS m
    SET attempts = m.attempts + 1, code = NULL, visible_at = v_now + 1000 * least(power(2, least(m.attempts, 10)), 60)::bigint
    WHERE m.no = ANY (p_messages) AND m.mailbox = p_mailbox;

    UPDATE abide.mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL, batch_cancel = NULL WHERE no = p_mailbox;
    IF cardinality(dead) > 0 THEN
        PERFORM abide.await_start(ARRAY[p_mailbox], v_now);
    END IF;
    v_settled := abide.settle(ARRAY[p_mailbox], NULL, v_now);
    due_at := v_settled.due_at;
    IF cardinality(v_settled.wakes) > 0 THEN
        SELECT h.leases, h.messages INTO leases, messages
        FROM abide.hand_out(ARRAY[p_mailbox], ARRAY[p_nonce], v_mailbox.leased_until, p_counts) AS h;
    END IF;
END $$;
