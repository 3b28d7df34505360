-- Leases activities, which the caller has locked, lowest number first: a nonce for each. No more than 16 MB together, unless one alone has
-- more: the rest stays ready. A session is shown as it is before it is claimed.
CREATE FUNCTION abide.grant_work(p_work bigint[], p_nonces bigint[], p_until bigint, OUT leases abide.work_lease[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_work bigint[] := p_work;
BEGIN
    IF cardinality(p_work) > 1 THEN
        v_work := ARRAY(SELECT unnest(p_work) AS no ORDER BY no);
        IF (SELECT sum(octet_length(w.item)) FROM abide.work AS w WHERE w.no = ANY (v_work)) > 16777216 THEN
            v_work := ARRAY(
                SELECT c.no
                FROM (SELECT w.no, sum(octet_length(w.item)) OVER (ORDER BY w.no) - octet_length(w.item) AS before
                      FROM abide.work AS w WHERE w.no = ANY (v_work)) AS c
                WHERE c.before < 16777216 ORDER BY c.no);
        END IF;
    END IF;
    WITH leased AS (
        UPDATE abide.work AS w
        SET lease = c.nonce, leased_until = p_until, due_at = p_until, attempts = w.attempts + 1
        FROM unnest(v_work, p_nonces) AS c (no, nonce) WHERE w.no = ANY (ARRAY[c.no])
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
