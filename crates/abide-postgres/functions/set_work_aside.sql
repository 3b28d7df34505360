-- The same for work, whose attempt counted when it was leased. p_poison is what its instance is told when it dies. If its session was
-- claimed for nothing but this, p_claim says by which claim, and it becomes what it was before, unless it was claimed again. Says whether
-- it died.
CREATE FUNCTION abide.set_work_aside(
    p_work bigint, p_mailbox bigint, p_nonce bigint, p_poison text, p_claim bigint, p_owner text, p_lock bigint, p_activity bigint,
    OUT is_dead boolean, OUT wakes bigint[], OUT due_at bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_work abide.work;
    v_settled record;
BEGIN
    PERFORM abide.lock_mailboxes(ARRAY[p_mailbox], '{}', '{}');
    SELECT * INTO v_work FROM abide.work AS w WHERE w.no = p_work FOR UPDATE;
    v_now := abide.now();
    is_dead := false;
    -- However short the lease was: while the nonce is there, nobody else has it.
    IF (v_work.lease = p_nonce AND v_work.mailbox = p_mailbox) IS NOT TRUE THEN
        RETURN;
    END IF;
    v_work.attempts := v_work.attempts + (NOT v_work.lease_counts)::integer;
    IF v_work.attempts > 10 THEN
        is_dead := true;
        DELETE FROM abide.work WHERE no = p_work;
        INSERT INTO abide.dead_letter (no, queue, instance, attempts, dead_at, item)
        VALUES (p_work, 'work', coalesce((SELECT b.id FROM abide.mailbox AS b WHERE b.no = p_mailbox), ''), v_work.attempts, v_now,
                v_work.item);
        INSERT INTO abide.message (mailbox, class, item)
        SELECT b.no, 6, p_poison FROM abide.mailbox AS b WHERE b.no = p_mailbox AND abide.is_expected(b.no);
    ELSE
        UPDATE abide.work
        SET lease = NULL, leased_until = NULL, is_unreadable = true, route = abide.work_route_of(NULL, tag), attempts = v_work.attempts,
            due_at = v_now + 1000 * least(power(2, least(v_work.attempts - 1, 10)), 60)::bigint
        WHERE no = p_work;
    END IF;
    IF v_work.session IS NOT NULL THEN
        PERFORM abide.hold_sessions(ARRAY[v_work.session]);
        UPDATE abide.session SET owner = p_owner, locked_until = p_lock, last_active_at = p_activity
        WHERE name = v_work.session AND claims = p_claim;
        PERFORM abide.settle_lanes(ARRAY[v_work.session], ARRAY[(SELECT w.route FROM abide.work AS w WHERE w.no = p_work)], v_now);
    END IF;
    IF is_dead THEN
        v_settled := abide.settle(ARRAY[p_mailbox], NULL, v_now);
        wakes := v_settled.wakes;    due_at := v_settled.due_at;
    END IF;
END $$;
