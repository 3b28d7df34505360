-- Tells the other nodes, in a transaction of its own: one that notifies takes a lock of the whole database to commit. The caller gathers
-- the news of many commits and sends them at once, in pieces that fit a notice. Nothing depends on a notice: who missed one finds out by
-- looking, or when it renews.
CREATE FUNCTION abide.tell(p_channel text, p_notices text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_notify(p_channel, n) FROM unnest(p_notices) AS n;
END $$;
