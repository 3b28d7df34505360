-- Takes back at most p_most activities of one execution of a leased mailbox, in the order of their events.
-- The lease stays. revoked is how many there were, null if the lease is lost; more says whether others may be
-- left.
CREATE FUNCTION abide.revoke_work(
    p_mailbox bigint, p_nonce bigint, p_execution bigint, p_most bigint, p_because text,
    OUT revoked bigint, OUT more boolean, OUT stolen text[], OUT because text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_box abide.mailbox;
    v_work bigint[];
    v_sessions text[];
BEGIN
    SELECT b.* INTO v_box FROM abide.mailbox AS b WHERE b.no = p_mailbox FOR UPDATE;
    v_work := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.mailbox = p_mailbox AND w.execution = p_execution
                    ORDER BY w.activity, w.no LIMIT p_most);
    more := cardinality(v_work) >= p_most;
    -- One that is finished meanwhile is not there any more.
    v_work := ARRAY(SELECT w.no FROM abide.work AS w WHERE w.no = ANY (v_work) ORDER BY w.no FOR UPDATE);
    v_now := abide.now();
    IF (v_box.lease = p_nonce AND v_box.leased_until > v_now) IS NOT TRUE THEN
        RETURN;
    END IF;
    revoked := cardinality(v_work);
    SELECT g.stolen, g.because, g.sessions INTO stolen, because, v_sessions
    FROM abide.take_back(v_work, array_fill(p_because, ARRAY[cardinality(v_work)]), v_now) AS g;
    IF cardinality(v_sessions) > 0 THEN
        PERFORM abide.hold_sessions(v_sessions);
        PERFORM abide.settle_lanes(v_sessions, NULL, v_now);
    END IF;
END $$;
