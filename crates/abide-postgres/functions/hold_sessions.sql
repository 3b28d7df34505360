-- Locks sessions in order, whether they exist or not. An upsert, because between an insert that found the row and a lock that looks
-- for it, the row may be cleaned up.
CREATE FUNCTION abide.hold_sessions(p_sessions text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO abide.session AS s (name)
    SELECT DISTINCT n COLLATE "C" AS name FROM unnest(p_sessions) AS n WHERE n IS NOT NULL ORDER BY name
    ON CONFLICT (name) DO UPDATE SET last_active_at = s.last_active_at;
END $$;
