-- One answer per turn. Called when everything is locked, with the time read after that. The order of the reasons is that of
-- docs/spec/store.md; a conflict says what is there. p_mailboxes[turn] is the mailbox of a turn.
CREATE FUNCTION abide.judge(p_turns abide.new_turn[], p_mailboxes bigint[], p_now bigint)
RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (
        SELECT array_agg(
            CASE
                WHEN t.authority = 'lease' AND (b.lease = t.nonce AND b.leased_until > p_now) IS NOT TRUE THEN 'lost'
                WHEN t.authority = 'work' AND (w.lease = t.nonce AND w.leased_until > p_now AND w.mailbox = b.no) IS NOT TRUE
                    THEN 'lost'
                WHEN b.id <> t.instance THEN 'invalid'
                WHEN t.authority = 'work' AND b.leased_until > p_now THEN 'leased'
                WHEN t.authority = 'work' AND (b.no, b.execution, b.last_event)
                     <> (t.expected_mailbox, t.expected_execution, t.expected_event) THEN 'moved'
                WHEN t.authority = 'work' AND (
                         EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = ANY (ARRAY[b.no]) AND m.place IS NOT NULL)
                         OR EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = ANY (ARRAY[b.no]) AND m.visible_at <= p_now))
                    THEN 'mail'
                WHEN t.execution < b.execution THEN 'over ' || b.execution
                WHEN t.execution = b.execution AND t.first_event <= b.last_event THEN 'taken ' || b.last_event
                ELSE 'ok'
            END ORDER BY t.turn)
        FROM unnest(p_turns) AS t
        LEFT JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[p_mailboxes[t.turn]])
        LEFT JOIN abide.work AS w ON w.no = ANY (ARRAY[t.work]));
END $$;
