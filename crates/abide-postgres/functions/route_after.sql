-- The route of work after so many attempts: from the third on it is a suspect.
CREATE FUNCTION abide.route_after(p_route bigint, p_attempts integer, p_is_unreadable boolean) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT (p_route & ~1::bigint) + (p_attempts >= 3 AND NOT p_is_unreadable)::integer
$$;
