-- The server cannot tell whether an item can be read; the node can. Messages of a lease that it could not read count an attempt and are
-- hidden for a while, or die with the eleventh; the others are handed out again, under the same lease. If nothing is left to hand out, the
-- lease is gone. Says which messages died.
CREATE FUNCTION abide.set_messages_aside(
    p_mailbox bigint, p_nonce bigint, p_messages bigint[],
    OUT dead bigint[], OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_mailbox abide.mailbox;
    v_settled record;
BEGIN
    SELECT * INTO v_mailbox FROM abide.mailbox AS b WHERE b.no = p_mailbox FOR UPDATE;
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
    UPDATE abide.message AS m
    SET attempts = m.attempts + 1, code = NULL, visible_at = v_now + 1000 * least(power(2, least(m.attempts, 10)), 60)::bigint
    WHERE m.no = ANY (p_messages) AND m.mailbox = p_mailbox;

    UPDATE abide.mailbox SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL WHERE no = p_mailbox;
    v_settled := abide.settle(ARRAY[p_mailbox], NULL, v_now);
    due_at := v_settled.due_at;
    IF cardinality(v_settled.wakes) > 0 THEN
        SELECT h.leases, h.messages INTO leases, messages
        FROM abide.hand_out(ARRAY[p_mailbox], ARRAY[p_nonce], v_mailbox.leased_until) AS h;
    END IF;
END $$;
