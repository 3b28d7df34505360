-- Starts of children of these instances that are still in the queue; those in deleted mailboxes are gone already.
CREATE FUNCTION abide.unborn(p_parents text[]) RETURNS TABLE (no bigint, mailbox bigint) LANGUAGE sql STABLE AS $$
    SELECT m.no, m.mailbox FROM abide.message AS m WHERE m.parent = ANY (p_parents) AND m.parent IS NOT NULL
      AND (SELECT true FROM abide.tombstone AS t WHERE t.mailbox = m.mailbox ORDER BY t.mailbox LIMIT 1) IS NULL
$$;
