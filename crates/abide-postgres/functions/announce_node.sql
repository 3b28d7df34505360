-- Makes a node known that works through the store p_owner, or replaces what it said. Nodes that were gone for a day are forgotten.
CREATE FUNCTION abide.announce_node(p_id text, p_owner bigint, p_said text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint := abide.now();
BEGIN
    -- Losing it loses nothing: with the server, its sessions are gone.
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO abide.node AS n (id, owner, said, started_at, seen_at) VALUES (p_id, p_owner, p_said, v_now, v_now)
    ON CONFLICT (id) DO UPDATE SET owner = p_owner, said = p_said, seen_at = v_now;
    DELETE FROM abide.node AS n WHERE n.id = ANY (ARRAY(
        SELECT n.id FROM abide.node AS n WHERE n.seen_at < v_now - 86400000 AND n.owner <> ALL (abide.listening())
        ORDER BY n.id LIMIT 100 FOR UPDATE SKIP LOCKED));
END $$;
