-- Removes timers that nobody waits for any more: those that turns name, or all of their execution. p_mailboxes[turn] is null for a turn
-- that was refused. Says whose readiness may have changed, beside p_unsettled.
CREATE FUNCTION abide.remove_timers(p_turns abide.new_turn[], p_mailboxes bigint[], p_unsettled bigint[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_turn abide.new_turn;
    v_mailbox bigint;
    v_event bigint;
    v_found boolean;
    v_unsettled bigint[] := p_unsettled;
BEGIN
    FOREACH v_turn IN ARRAY p_turns LOOP
        v_mailbox := p_mailboxes[v_turn.turn];
        CONTINUE WHEN v_mailbox IS NULL;
        v_found := false;
        IF v_turn.ends_timers THEN
            DELETE FROM abide.message AS m WHERE m.mailbox = v_mailbox AND m.class = 4 AND m.execution = v_turn.execution;
            v_found := FOUND;
        ELSIF cardinality(v_turn.timers) > 0 THEN
            -- One look at the index for each, however many there are.
            FOREACH v_event IN ARRAY v_turn.timers LOOP
                DELETE FROM abide.message AS m
                WHERE m.mailbox = v_mailbox AND m.class = 4 AND m.execution = v_turn.execution AND m.event = v_event;
                v_found := v_found OR FOUND;
            END LOOP;
        END IF;
        IF v_found AND (v_mailbox = ANY (v_unsettled)) IS NOT TRUE THEN
            v_unsettled := v_unsettled || v_mailbox;
        END IF;
    END LOOP;
    RETURN v_unsettled;
END $$;
