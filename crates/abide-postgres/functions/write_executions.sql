-- What turns say about their instances and executions; p_turns are those that say something. p_mailboxes[turn] is null for a turn that
-- writes nothing (it was refused, or there is no instance and it makes none), so that no write can find a row for it. p_begins and p_alters
-- say whether a turn may begin an execution, and whether one may say something about one that was there.
CREATE FUNCTION abide.write_executions(
    p_turns abide.new_turn[], p_mailboxes bigint[], p_begins boolean, p_alters boolean, p_now bigint
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE abide.instance AS i
    SET name = coalesce(t.name, i.name),
        version = coalesce(t.version, i.version),
        parent = coalesce(i.parent, t.parent),
        parent_execution = CASE WHEN i.parent IS NULL THEN t.parent_execution ELSE i.parent_execution END,
        parent_event = CASE WHEN i.parent IS NULL THEN t.parent_event ELSE i.parent_event END,
        status = CASE WHEN t.status IS NOT NULL THEN t.status WHEN t.execution > b.execution THEN 'Running' ELSE i.status END,
        completed_at = CASE WHEN t.status IN ('Completed', 'Failed') THEN p_now
                            WHEN t.status IS NOT NULL OR t.execution > b.execution THEN NULL
                            ELSE i.completed_at END,
        has_past = t.execution > 1,
        created_at = CASE WHEN b.execution = 0 THEN p_now ELSE i.created_at END,
        custom_status = CASE WHEN t.sets_custom_status THEN t.custom_status ELSE i.custom_status END,
        custom_status_version = i.custom_status_version + t.sets_custom_status::integer
    FROM unnest(p_turns) AS t, abide.mailbox AS b
    WHERE b.no = ANY (ARRAY[p_mailboxes[t.turn]]) AND i.no = ANY (ARRAY[b.no])
      AND (t.execution > b.execution OR t.sets_custom_status OR t.status IS NOT NULL OR t.name IS NOT NULL
           OR t.version IS NOT NULL OR t.parent IS NOT NULL);

    IF p_begins THEN
        INSERT INTO abide.execution (mailbox, no, status, output, pin, started_at, completed_at)
        SELECT b.no, t.execution, coalesce(t.status, 'Running'), CASE WHEN t.status IS NOT NULL THEN t.output END, coalesce(t.pin, ''),
               p_now, CASE WHEN t.status <> 'Running' THEN p_now END
        FROM unnest(p_turns) AS t JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[p_mailboxes[t.turn]])
        WHERE t.execution > b.execution;
    END IF;
    IF p_alters THEN
        UPDATE abide.execution AS e
        SET pin = coalesce(t.pin, e.pin), status = coalesce(t.status, e.status),
            output = CASE WHEN t.status IS NULL THEN e.output ELSE t.output END,
            completed_at = CASE WHEN t.status IS NULL THEN e.completed_at WHEN t.status <> 'Running' THEN p_now END
        FROM unnest(p_turns) AS t JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[p_mailboxes[t.turn]])
        WHERE e.mailbox = ANY (ARRAY[b.no]) AND e.no = t.execution AND t.execution = b.execution
          AND (t.pin IS NOT NULL OR t.status IS NOT NULL);
    END IF;
END $$;
