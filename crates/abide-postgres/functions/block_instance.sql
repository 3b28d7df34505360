-- Ends a lease by blocking its instance: nothing is recorded, the attempts of what the lease handed out are
-- forgotten, and all mail stays. p_refused are the builds that refuse it
-- if it was refused by p_known before, null if by none; the node says so after it has read them. outcome is 'ok', 'lost', or 'moved' if
-- others have refused it meanwhile.
CREATE FUNCTION abide.block_instance(
    p_mailbox bigint, p_nonce bigint, p_known text, p_refused text, p_retry_ms bigint, p_kind text, p_detail text, p_build text,
    p_event bigint,
    OUT outcome text, OUT known text, OUT instance text, OUT wakes bigint[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_box abide.mailbox;
    v_settled record;
BEGIN
    SELECT b.* INTO v_box FROM abide.mailbox AS b WHERE b.no = p_mailbox FOR UPDATE;
    v_now := abide.now();
    IF (v_box.lease = p_nonce AND v_box.leased_until > v_now) IS NOT TRUE THEN
        outcome := 'lost';
        RETURN;
    END IF;
    instance := v_box.id;
    IF v_box.flags & 1 = 1 THEN
        SELECT k.refused INTO known FROM abide.block AS k WHERE k.mailbox = p_mailbox;
    END IF;
    IF known IS DISTINCT FROM p_known THEN
        outcome := 'moved';
        RETURN;
    END IF;
    outcome := 'ok';
    INSERT INTO abide.block (mailbox, execution, refused, retry_after, retry_at, kind, since, detail, build, event)
    VALUES (p_mailbox,
            CASE WHEN v_box.execution = 0 THEN 1 WHEN v_box.status = 'ContinuedAsNew' THEN v_box.execution + 1 ELSE v_box.execution END,
            p_refused, p_retry_ms, abide.later(v_now, p_retry_ms), p_kind, v_now, p_detail, p_build, p_event)
    ON CONFLICT (mailbox) DO UPDATE
    SET execution = excluded.execution, refused = excluded.refused, retry_after = excluded.retry_after, retry_at = excluded.retry_at,
        is_open = false, kind = excluded.kind,
        -- It is blocked since the first refusal, until it is healed.
        since = CASE WHEN block.kind IS NOT NULL AND block.execution = excluded.execution THEN block.since ELSE excluded.since END,
        detail = excluded.detail, build = excluded.build,
        event = excluded.event;
    -- Its turn came to an end: nothing crashed.
    UPDATE abide.message AS m SET attempts = 0
    FROM abide.batch(p_mailbox, v_box.batch_to, v_box.batch_first, v_box.batch_cancel) AS handed_out (no)
    WHERE m.no = ANY (ARRAY[handed_out.no]) AND m.attempts > 0;
    UPDATE abide.mailbox AS b
    SET lease = NULL, leased_until = NULL, batch_to = NULL, batch_first = NULL, batch_cancel = NULL, flags = b.flags | 1 WHERE b.no = p_mailbox;
    v_settled := abide.settle(ARRAY[p_mailbox], NULL, v_now);
    wakes := v_settled.wakes;    due_at := v_settled.due_at;
END $$;
