-- The messages that a lease handed out and that are still there: those that were visible up to a number, the one that starts an
-- execution, and a cancel behind them. That cannot change under a lease: hidden messages are shown only when it is over, and new ones
-- have higher numbers.
CREATE FUNCTION abide.batch(p_mailbox bigint, p_to bigint, p_first bigint, p_cancel bigint)
RETURNS SETOF bigint LANGUAGE sql STABLE AS $$
    SELECT m.no FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.place <= p_to
    UNION ALL
    SELECT m.no FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.place = p_first AND m.place > p_to
    UNION ALL
    SELECT m.no FROM abide.message AS m WHERE m.mailbox = p_mailbox AND m.place = p_cancel
$$;
