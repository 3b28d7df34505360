-- Makes leases last longer. outcomes are 'ok', 'lost', or 'busy' if another holds the row, one per token; a token comes once. One row that
-- is held must not cost the others their leases, so only a call that p_waits waits for it, and not for long. p_node was seen now; that is written
-- every ten seconds.
CREATE FUNCTION abide.renew_instances(p_mailboxes bigint[], p_nonces bigint[], p_extend_ms bigint[], p_waits boolean, p_node bigint)
RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    v_now bigint;
    v_there bigint[];
    v_locked bigint[];
    v_held bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    IF p_waits THEN
        PERFORM set_config('lock_timeout', '500ms', true);
        v_locked := ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) ORDER BY b.no FOR UPDATE);
    ELSE
        v_locked := ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) ORDER BY b.no FOR UPDATE SKIP LOCKED);
    END IF;
    v_now := abide.now();
    v_there := ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes));
    WITH renewed AS (
        UPDATE abide.mailbox AS b
        SET leased_until = greatest(b.leased_until, abide.later(v_now, r.extend)),
            due_at = greatest(b.leased_until, abide.later(v_now, r.extend))
        FROM unnest(p_mailboxes, p_nonces, p_extend_ms) AS r (no, nonce, extend)
        WHERE b.no = ANY (ARRAY[r.no]) AND r.no = ANY (v_locked) AND b.lease = r.nonce AND b.leased_until > v_now RETURNING b.no
    )
    SELECT coalesce(array_agg(no), '{}') INTO v_held FROM renewed;
    UPDATE abide.node AS n SET seen_at = v_now WHERE n.owner = p_node AND n.seen_at <= v_now - 10000;
    RETURN ARRAY(SELECT CASE WHEN r.no = ANY (v_held) THEN 'ok'
                             WHEN r.no = ANY (v_there) AND r.no <> ALL (v_locked) THEN 'busy'
                             ELSE 'lost' END
                 FROM unnest(p_mailboxes) WITH ORDINALITY AS r (no, place) ORDER BY r.place);
END $$;
