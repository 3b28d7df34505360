-- Brings the readiness of these mailboxes, which the caller has locked, up to date, and says whether one can be leased and when
-- that may change. One that is leased is left alone.
CREATE FUNCTION abide.settle(p_mailboxes bigint[], OUT wakes boolean, OUT due_at bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    UPDATE abide.mailbox AS b SET ready = s.ready, due_at = s.due_at
    FROM abide.mailbox AS old CROSS JOIN LATERAL abide.standing(old.no, old.execution > 0) AS s
    WHERE old.no = ANY (p_mailboxes) AND old.lease IS NULL AND b.no = ANY (ARRAY[old.no])
      AND (b.ready, b.due_at) IS DISTINCT FROM (s.ready, s.due_at);

    SELECT coalesce(bool_or(b.ready IS NOT NULL), false), min(b.due_at) INTO wakes, due_at
    FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) AND b.lease IS NULL;
END $$;
