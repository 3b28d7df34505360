-- These sessions, which the caller holds, were active now, if they are still locked.
CREATE FUNCTION abide.use_sessions(p_sessions text[], p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE abide.session SET last_active_at = p_now WHERE name = ANY (p_sessions) AND locked_until > p_now;
END $$;
