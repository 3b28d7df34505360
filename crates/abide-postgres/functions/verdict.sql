-- What becomes of a turn, given its mailbox and the lease on the activity that it uses up, if it is a fused step: 'ok', or why it is refused.
-- The order of the reasons is that of docs/spec/store.md, and a conflict says what is there.
CREATE FUNCTION abide.verdict(
    p_turn abide.new_turn, p_box abide.mailbox, p_work_lease bigint, p_work_until bigint, p_work_of bigint, p_now bigint
) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE
        WHEN p_turn.authority = 'lease' AND (p_box.lease = p_turn.nonce AND p_box.leased_until > p_now) IS NOT TRUE THEN 'lost'
        WHEN p_turn.authority = 'work' AND (p_work_lease = p_turn.nonce AND p_work_until > p_now AND p_work_of = p_box.no) IS NOT TRUE
            THEN 'lost'
        WHEN p_box.id <> p_turn.instance THEN 'invalid'
        WHEN p_turn.authority = 'work' AND p_box.leased_until > p_now THEN 'leased'
        WHEN p_turn.authority = 'work' AND (p_box.no, p_box.execution, p_box.last_event)
             <> (p_turn.expected_mailbox, p_turn.expected_execution, p_turn.expected_event) THEN 'moved'
        WHEN p_turn.authority = 'work' AND CASE WHEN p_box.lease IS NULL AND p_box.execution > 0 AND p_box.flags = 0
                                                THEN p_box.ready IS NOT NULL OR p_box.due_at <= p_now
                                                ELSE abide.has_mail(p_box.no, p_now) END THEN 'mail'
        WHEN p_turn.execution < p_box.execution THEN 'over ' || p_box.execution
        WHEN p_turn.execution = p_box.execution AND p_turn.first_event <= p_box.last_event THEN 'taken ' || p_box.last_event
        ELSE 'ok'
    END
$$;
