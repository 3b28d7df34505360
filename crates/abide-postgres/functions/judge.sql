-- What becomes of each turn: one answer per turn in each array. Called when everything is locked, with the time read after that. outcomes
-- are those of abide.verdict.
-- p_mailboxes[turn] is the mailbox of a turn. mailboxes are the same but for those of turns that are refused, living also but for those of
-- turns that make no instance of what is none; says, whether a turn says something about its instance or execution, beyond its events. begins:
-- one of them may be the first of its execution; alters: one may say something about an execution that was there. Null if there are none:
-- emptied, mailboxes of turns that use up all that their lease handed out; unsettled, those after which what a mailbox offers may be another (a
-- fused step has no mail, and leaves none); sessions, those of the activities that fused steps use up. refuses: builds refused one of them.
CREATE FUNCTION abide.judge(
    p_turns abide.new_turn[], p_mailboxes bigint[], p_now bigint,
    OUT outcomes text[], OUT mailboxes bigint[], OUT living bigint[], OUT instances text[], OUT was_running boolean[], OUT says boolean[],
    OUT begins boolean, OUT alters boolean, OUT emptied bigint[], OUT unsettled bigint[], OUT sessions text[], OUT refuses boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    SELECT array_agg(j.outcome), array_agg(CASE WHEN j.outcome = 'ok' THEN j.no END),
           array_agg(CASE WHEN j.outcome = 'ok' AND j.lives THEN j.no END), array_agg(j.id), array_agg(j.was_running),
           array_agg(j.outcome = 'ok' AND j.says), bool_or(j.begins), bool_or(j.alters),
           array_agg(j.no) FILTER (WHERE j.outcome = 'ok' AND j.empties), array_agg(j.no) FILTER (WHERE j.outcome = 'ok' AND j.unsettles),
           array_agg(j.session) FILTER (WHERE j.outcome = 'ok' AND j.session IS NOT NULL), bool_or(j.is_refused)
    INTO outcomes, mailboxes, living, instances, was_running, says, begins, alters, emptied, unsettled, sessions, refuses
    FROM (
        SELECT abide.verdict(t, b, w.lease, w.leased_until, w.mailbox, p_now) AS outcome,
               b.no, b.id, t.creates OR b.execution > 0 AS lives,
               coalesce(b.status IN ('Running', 'ContinuedAsNew'), false) AS was_running,
               coalesce(t.execution > b.execution OR t.status IS NOT NULL OR t.sets_custom_status OR t.pin IS NOT NULL
                        OR t.name IS NOT NULL OR t.version IS NOT NULL OR t.parent IS NOT NULL, false) AS says,
               t.execution > b.execution AS begins,
               t.execution = b.execution AND (t.status IS NOT NULL OR t.pin IS NOT NULL) AS alters,
               t.authority = 'lease' AND t.consumes_all AS empties,
               t.authority <> 'work' OR b.lease IS NOT NULL OR b.flags > 0 AS unsettles, b.flags & 1 = 1 AS is_refused, w.session
        FROM unnest(p_turns) AS t
        LEFT JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[p_mailboxes[t.turn]])
        LEFT JOIN abide.work AS w ON w.no = ANY (ARRAY[t.work])
        ORDER BY t.turn
    ) AS j;
END $$;
