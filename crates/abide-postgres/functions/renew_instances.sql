-- Makes leases last longer. outcomes are 'ok' or 'lost', one per token; a token comes once.
CREATE FUNCTION abide.renew_instances(p_mailboxes bigint[], p_nonces bigint[], p_extend_ms bigint[])
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_held bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) ORDER BY b.no FOR UPDATE;
    v_now := abide.now();
    WITH renewed AS (
        UPDATE abide.mailbox AS b
        SET leased_until = greatest(b.leased_until, abide.later(v_now, r.extend)),
            due_at = greatest(b.leased_until, abide.later(v_now, r.extend))
        FROM unnest(p_mailboxes, p_nonces, p_extend_ms) AS r (no, nonce, extend)
        WHERE b.no = r.no AND b.lease = r.nonce AND b.leased_until > v_now RETURNING b.no
    )
    SELECT coalesce(array_agg(no), '{}') INTO v_held FROM renewed;
    RETURN ARRAY(SELECT CASE WHEN r.no = ANY (v_held) THEN 'ok' ELSE 'lost' END
                 FROM unnest(p_mailboxes) WITH ORDINALITY AS r (no, place) ORDER BY r.place);
END $$;
