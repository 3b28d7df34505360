-- Removes mailboxes that this very call made and that hold nothing: a refused turn leaves nothing behind, not even the mailboxes of
-- children it wanted to start.
CREATE FUNCTION abide.unregister(p_made bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM abide.mailbox AS b WHERE b.no = ANY (p_made) AND b.execution = 0
        AND NOT EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = ANY (ARRAY[b.no]) AND m.place IS NOT NULL)
        AND NOT EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = ANY (ARRAY[b.no]) AND m.visible_at IS NOT NULL)
        AND NOT EXISTS (SELECT FROM abide.work AS w WHERE w.mailbox = ANY (ARRAY[b.no]));
    DELETE FROM abide.instance AS i WHERE i.no = ANY (p_made)
        AND NOT EXISTS (SELECT FROM abide.mailbox AS b WHERE b.no = ANY (ARRAY[i.no]));
END $$;
