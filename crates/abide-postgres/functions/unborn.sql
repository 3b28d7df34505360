-- Starts of children of these instances that are still in the queue.
CREATE FUNCTION abide.unborn(p_parents text[]) RETURNS TABLE (no bigint, mailbox bigint) LANGUAGE sql STABLE AS $$
    SELECT m.no, m.mailbox FROM abide.message AS m WHERE m.parent = ANY (p_parents) AND m.parent IS NOT NULL
$$;
