-- Whether there is such an instance, or one is about to start.
CREATE FUNCTION abide.is_expected(p_mailbox bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM abide.mailbox AS b WHERE b.no = p_mailbox AND b.execution > 0)
        OR EXISTS (SELECT FROM abide.message AS s WHERE s.mailbox = p_mailbox AND s.class IN (1, 2));
END $$;
