-- Prunes an instance: at most p_most executions, oldest first. p_ended: only if it ended before this time. outcome is 'ok', 'unknown', or
-- 'spared' if it did not end before.
CREATE FUNCTION abide.prune_executions(
    p_id text, p_keeps bigint, p_ended_before bigint, p_most bigint, p_instance_ended_before bigint,
    OUT outcome text, OUT executions bigint, OUT events bigint, OUT stolen text[], OUT because text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_locked bigint[] := abide.lock_mailboxes('{}', '{}', ARRAY[p_id]);
    v_mailbox abide.mailbox;
    v_pruned bigint[];
    v_work bigint[];
    v_sessions text[];
    v_now bigint;
BEGIN
    outcome := 'ok';    executions := 0;    events := 0;    stolen := '{}';    because := '{}';
    SELECT b.* INTO v_mailbox FROM abide.mailbox AS b JOIN abide.instance AS i ON i.no = ANY (ARRAY[b.no])
    WHERE i.id = p_id AND b.no = ANY (v_locked) AND b.execution > 0;
    IF v_mailbox.no IS NULL THEN
        outcome := 'unknown';
        RETURN;
    END IF;
    IF p_instance_ended_before IS NOT NULL AND NOT EXISTS (
        SELECT FROM abide.instance AS i WHERE i.no = v_mailbox.no AND i.completed_at < p_instance_ended_before) THEN
        outcome := 'spared';
        RETURN;
    END IF;
    v_pruned := abide.prunable(v_mailbox.no, v_mailbox.execution, v_mailbox.unbroken, p_keeps, p_ended_before, p_most);
    IF cardinality(v_pruned) = 0 THEN
        RETURN;
    END IF;
    v_work := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.mailbox = v_mailbox.no AND w.execution = ANY (v_pruned)
                    ORDER BY w.no + 0 FOR UPDATE);
    v_now := abide.now();
    SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_sessions
    FROM abide.take_back(v_work, array_fill('deleted'::text, ARRAY[cardinality(v_work)]), v_now) AS g;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, NULL, v_now);
    END IF;
    executions := cardinality(v_pruned);
    events := abide.drop_executions(v_mailbox.no, v_pruned);
END $$;
