-- Leases activities without a session, which the caller has locked: a nonce for each.
CREATE FUNCTION abide.grant_work(p_work bigint[], p_nonces bigint[], p_until bigint, OUT leases abide.work_lease[]) LANGUAGE plpgsql AS $$
BEGIN
    WITH leased AS (
        UPDATE abide.work AS w
        SET lease = p_nonces[array_position(p_work, w.no)], leased_until = p_until, due_at = p_until, attempts = w.attempts + 1
        WHERE w.no = ANY (p_work)
        RETURNING w.no, w.mailbox, w.lease, w.attempts, w.execution, w.activity, w.item
    )
    SELECT array_agg(ROW (l.no, l.mailbox, l.lease, l.attempts, i.id, l.execution, l.activity, i.name,
                          CASE WHEN i.status <> '' THEN i.version ELSE '' END, l.item, NULL, NULL, NULL, NULL, NULL)
                         ::abide.work_lease ORDER BY l.no)
    INTO leases FROM leased AS l LEFT JOIN abide.instance AS i ON i.no = ANY (ARRAY[l.mailbox]);
END $$;
