-- Executions that a prune takes: at most p_most, oldest first; never the current one or one that runs. What it costs depends on what
-- goes, not on what is kept: p_unbroken is the execution from which on none is missing, so the last that may go is found by counting
-- down, without going through those that stay.
CREATE FUNCTION abide.prunable(
    p_mailbox bigint, p_current bigint, p_unbroken bigint, p_keeps bigint, p_ended_before bigint, p_most bigint
) RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_in_a_row bigint := p_current - p_unbroken + 1;
    v_from bigint;
    v_kept_before_it bigint;
    v_last bigint;
    v_ended_at bigint;
BEGIN
    -- Of those before a gap, as many are kept as are missing behind it. Hardly anything is left there: prunes begin with the oldest.
    IF v_in_a_row >= p_keeps THEN
        v_from := p_current - p_keeps;
        v_kept_before_it := 0;
    ELSE
        v_from := p_unbroken - 1;
        v_kept_before_it := p_keeps - v_in_a_row;
    END IF;
    SELECT e.no, e.completed_at INTO v_last, v_ended_at
    FROM abide.execution AS e WHERE e.mailbox = p_mailbox AND e.no <= v_from
    ORDER BY e.no DESC LIMIT 1 OFFSET v_kept_before_it;
    IF v_last IS NULL THEN
        RETURN '{}';
    END IF;
    -- Executions end one after the other. If the last that may go ended early enough, so did the others, and they are taken by number;
    -- if not, those that did are few, or none. A clock that was set back makes either way longer, not wrong.
    IF p_ended_before IS NULL OR v_ended_at < p_ended_before THEN
        RETURN ARRAY(SELECT e.no FROM abide.execution AS e
                     WHERE e.mailbox = p_mailbox AND e.no <= v_last AND e.status <> 'Running'
                       AND (p_ended_before IS NULL OR e.completed_at < p_ended_before)
                     ORDER BY e.no LIMIT p_most);
    END IF;
    RETURN ARRAY(SELECT e.no FROM abide.execution AS e
                 WHERE e.mailbox = p_mailbox AND e.completed_at < p_ended_before AND e.no <= v_last AND e.status <> 'Running'
                 ORDER BY e.completed_at, e.no LIMIT p_most);
END $$;
