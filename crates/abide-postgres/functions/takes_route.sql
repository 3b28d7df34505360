-- Whether a call takes instances of this route, or work. p_routes are those it takes, without suspects; null is all up to p_known. It
-- takes all without p_marks, too, if that is not null.
CREATE FUNCTION abide.takes_route(p_route bigint, p_routes bigint[], p_known bigint, p_marks bigint, p_suspects integer) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT ((p_route & 1) = 0 OR coalesce(p_suspects, 1) > 0)
       AND ((p_route & p_marks) = 0 IS TRUE
            OR CASE WHEN p_routes IS NULL THEN (p_route & 274877906943) >> 1 <= p_known ELSE (p_route & ~1::bigint) = ANY (p_routes) END)
$$;
