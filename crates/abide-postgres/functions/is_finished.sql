-- Whether nothing will happen any more unless somebody wants it.
CREATE FUNCTION abide.is_finished(p_mailbox bigint, p_status text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT p_status IN ('Completed', 'Failed')
        OR (p_status = 'ContinuedAsNew'
            AND NOT EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.class IN (1, 2) AND m.class = 2))
$$;
