-- Leases activities, which the caller has locked, lowest number first: a nonce for each. No more than 16 MB together, unless one alone has
-- more: the rest stays ready. A session is shown as it is before it is claimed.
CREATE FUNCTION abide.grant_work(p_work bigint[], p_nonces bigint[], p_until bigint, OUT leases abide.work_lease[]) LANGUAGE plpgsql AS $$
BEGIN
    WITH leased AS (
        UPDATE abide.work AS w
        SET lease = p_nonces[c.place], leased_until = p_until, due_at = p_until, attempts = w.attempts + 1
        FROM (
            SELECT w.no, row_number() OVER (ORDER BY w.no) AS place,
                   sum(octet_length(w.item)) OVER (ORDER BY w.no) - octet_length(w.item) AS before
            FROM abide.work AS w WHERE w.no = ANY (p_work)
        ) AS c
        WHERE w.no = ANY (ARRAY[c.no]) AND c.before < 16777216
        RETURNING w.no, w.mailbox, w.lease, w.attempts, w.execution, w.activity, w.session, w.item
    )
    SELECT array_agg(ROW (l.no, l.mailbox, l.lease, l.attempts, i.id, l.execution, l.activity, i.name,
                          CASE WHEN i.status <> '' THEN i.version ELSE '' END, l.item, l.session, s.claims + 1, s.owner,
                          s.locked_until, s.last_active_at)
                         ::abide.work_lease ORDER BY l.no)
    INTO leases
    FROM leased AS l
    LEFT JOIN abide.instance AS i ON i.no = ANY (ARRAY[l.mailbox])
    LEFT JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session]);
END $$;
