-- A time that much later; the end of time if there is no such time.
CREATE FUNCTION abide.later(p_now bigint, p_ms bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_ms > 9223372036854775807 - p_now THEN 9223372036854775807 ELSE p_now + p_ms END
$$;
