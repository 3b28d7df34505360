-- Whether there is a message in a mailbox that is visible, or has become so. One that is not leased says that itself (abide.verdict).
CREATE FUNCTION abide.has_mail(p_mailbox bigint, p_now bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.place IS NOT NULL)
        OR EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.visible_at <= p_now);
END $$;
