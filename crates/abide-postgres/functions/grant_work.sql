-- Leases activities, which the caller has locked, lowest number first: a nonce for each. Once they have 16 MiB together (LEASE_BYTES),
-- the rest stays ready. p_counts: whether a lease on a suspect counts as an attempt at once. A session is shown as it is before it is claimed.
CREATE FUNCTION abide.grant_work(p_work bigint[], p_nonces bigint[], p_until bigint, p_counts boolean, OUT leases abide.work_lease[]) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_work bigint[] := p_work;
    v_no bigint;    v_bytes bigint := 0;
    v_one record;    v_of record;    v_session abide.session;
    v_until bigint := p_until;
BEGIN
    IF cardinality(p_work) > 1 THEN
        v_work := ARRAY(SELECT unnest(p_work) AS no ORDER BY no);
    END IF;
    -- A few cost less one by one than together.
    IF cardinality(p_work) <= 4 THEN
        FOREACH v_no IN ARRAY v_work LOOP
            EXIT WHEN v_bytes >= 16777216;
            UPDATE abide.work AS w
            SET lease = p_nonces[coalesce(cardinality(leases), 0) + 1], leased_until = p_until, due_at = p_until,
                attempts = w.attempts + (p_counts OR w.attempts < 3)::integer, lease_counts = p_counts OR w.attempts < 3,
                route = abide.route_after(w.route, w.attempts + 1, w.is_unreadable)
            WHERE w.no = v_no
            RETURNING w.no, w.mailbox, w.lease, w.attempts + (NOT w.lease_counts)::integer AS attempts, w.execution, w.activity, w.session,
                      w.item, w.first_try, w.try_no
            INTO v_one;
            SELECT i.id, i.name, CASE WHEN i.status <> '' THEN i.version ELSE '' END AS version INTO v_of
            FROM abide.instance AS i WHERE i.no = v_one.mailbox;
            v_session := NULL;
            IF v_one.session IS NOT NULL THEN
                SELECT s.* INTO v_session FROM abide.session AS s WHERE s.name = v_one.session;
            END IF;
            v_bytes := v_bytes + octet_length(v_one.item);
            leases := leases || ROW (v_one.no, v_one.mailbox, v_one.lease, v_one.attempts, v_of.id, v_one.execution, v_one.activity,
                                     v_of.name, v_of.version, v_one.item, v_one.session, v_session.claims + 1, v_session.owner,
                                     v_session.locked_until, v_session.last_active_at, v_one.first_try, v_one.try_no)::abide.work_lease;
        END LOOP;
        IF v_bytes > 1048576 THEN
            v_until := abide.lasting(v_bytes);
            UPDATE abide.work AS w SET leased_until = v_until, due_at = v_until
            WHERE w.no = ANY (v_work[:cardinality(leases)]) AND w.leased_until < v_until;
        END IF;
        RETURN;
    END IF;
    v_bytes := (SELECT sum(octet_length(w.item)) FROM abide.work AS w WHERE w.no = ANY (v_work));
    IF v_bytes > 16777216 THEN
        v_work := ARRAY(
            SELECT c.no
            FROM (SELECT w.no, sum(octet_length(w.item)) OVER (ORDER BY w.no) - octet_length(w.item) AS before
                  FROM abide.work AS w WHERE w.no = ANY (v_work)) AS c
            WHERE c.before < 16777216 ORDER BY c.no);
        v_bytes := (SELECT sum(octet_length(w.item)) FROM abide.work AS w WHERE w.no = ANY (v_work));
    END IF;
    IF v_bytes > 1048576 THEN
        v_until := greatest(p_until, abide.lasting(v_bytes));
    END IF;
    WITH leased AS (
        UPDATE abide.work AS w
        SET lease = c.nonce, leased_until = v_until, due_at = v_until,
            attempts = w.attempts + (p_counts OR w.attempts < 3)::integer, lease_counts = p_counts OR w.attempts < 3,
            route = abide.route_after(w.route, w.attempts + 1, w.is_unreadable)
        FROM unnest(v_work, p_nonces) AS c (no, nonce) WHERE w.no = ANY (ARRAY[c.no])
        RETURNING w.no, w.mailbox, w.lease, w.attempts + (NOT w.lease_counts)::integer AS attempts, w.execution, w.activity, w.session,
                  w.item, w.first_try, w.try_no
    )
    SELECT array_agg(ROW (l.no, l.mailbox, l.lease, l.attempts, i.id, l.execution, l.activity, i.name,
                          CASE WHEN i.status <> '' THEN i.version ELSE '' END, l.item, l.session, s.claims + 1, s.owner,
                          s.locked_until, s.last_active_at, l.first_try, l.try_no)
                         ::abide.work_lease ORDER BY l.no)
    INTO leases
    FROM leased AS l
    LEFT JOIN abide.instance AS i ON i.no = ANY (ARRAY[l.mailbox])
    LEFT JOIN abide.session AS s ON s.name = ANY (ARRAY[l.session]);
END $$;
