-- Deletes executions of one mailbox with their events; their work has been taken back before. Says how many events there were.
CREATE FUNCTION abide.drop_executions(p_mailbox bigint, p_executions bigint[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_events bigint;
BEGIN
    WITH gone AS (DELETE FROM abide.turn AS t WHERE t.mailbox = p_mailbox AND t.execution = ANY (p_executions) RETURNING t.length)
    SELECT coalesce(sum(length), 0) INTO v_events FROM gone;
    DELETE FROM abide.execution AS e WHERE e.mailbox = p_mailbox AND e.no = ANY (p_executions);
    UPDATE abide.mailbox
    SET unbroken = greatest(unbroken, (SELECT max(e) FROM unnest(p_executions) AS e) + 1) WHERE no = p_mailbox;
    RETURN v_events;
END $$;
