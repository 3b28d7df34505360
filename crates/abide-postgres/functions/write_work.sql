-- Enqueues activities, made by p_maker, for mailboxes that are locked: that of their turn, p_mailboxes[turn], or one that is named. Whoever
-- waits for some, by p_offer, is given as many: what was ready before (abide.older_work), and then what is new, by its rank. Says under which
-- routes there is work now, and the last number; sessions and session_routes name the lanes to settle.
CREATE FUNCTION abide.write_work(
    p_work abide.new_work[], p_mailboxes bigint[], p_maker bigint, p_offer abide.work_offer, p_now bigint,
    OUT routes bigint[], OUT sessions text[], OUT session_routes bigint[], OUT leases abide.work_lease[], OUT last bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_until bigint := abide.later(p_now, p_offer.lease_ms);
    v_nonces bigint[] := p_offer.nonces;
    v_older bigint[] := '{}';
    v_routes bigint[];    -- per row of p_work
    v_one abide.new_work;    v_mailbox bigint;    v_lease bigint;
    v_id text;    v_name text;    v_version text;
BEGIN
    v_routes := CASE WHEN cardinality(p_work) = 1 THEN ARRAY[abide.work_route_of(p_work[1].name, p_work[1].tag)]
                     ELSE abide.routes_of_work(p_work) END;
    IF cardinality(v_nonces) > 0 AND (cardinality(p_work) > 1 OR p_work[1].rank IS NOT NULL) THEN
        -- Those that somebody waits for have a rank.
        v_older := abide.older_work(p_offer, CASE WHEN cardinality(p_work) = 1 AND NOT p_offer.suspects THEN v_routes ELSE ARRAY(
            SELECT DISTINCT r.route + s FROM unnest(v_routes, p_work) AS r (route, turn, instance, execution, activity, session, tag, rank)
            CROSS JOIN generate_series(0, p_offer.suspects::integer) AS s WHERE r.rank IS NOT NULL) END, cardinality(p_work));
    END IF;
    IF cardinality(v_older) > 0 THEN
        leases := abide.grant_work(v_older, v_nonces, v_until, true);
        -- What is new waits behind those that were too much.
        v_nonces := CASE WHEN cardinality(leases) = cardinality(v_older) THEN v_nonces[cardinality(v_older) + 1:] ELSE '{}' END;
    END IF;
    IF cardinality(p_work) = 1 AND p_work[1].instance IS NULL AND p_work[1].session IS NULL THEN
        v_one := p_work[1];    v_mailbox := p_mailboxes[v_one.turn];    v_lease := v_nonces[v_one.rank];
        INSERT INTO abide.work (mailbox, execution, activity, tag, route, maker, attempts, lease, leased_until, due_at, item, first_try, try_no)
        VALUES (v_mailbox, v_one.execution, v_one.activity, v_one.tag, v_routes[1], p_maker, (v_lease IS NOT NULL)::integer, v_lease,
                CASE WHEN v_lease IS NOT NULL THEN v_until END, CASE WHEN v_lease IS NOT NULL THEN v_until END, v_one.item,
                v_one.first_try, v_one.try_no)
        RETURNING no INTO last;
        sessions := '{}';    session_routes := '{}';    routes := '{}';
        IF v_lease IS NULL THEN
            routes := v_routes;
        ELSE
            SELECT i.id, i.name, CASE WHEN i.status <> '' THEN i.version ELSE '' END INTO v_id, v_name, v_version
            FROM abide.instance AS i WHERE i.no = v_mailbox;
            leases := leases || ROW (last, v_mailbox, v_lease, 1, v_id, v_one.execution, v_one.activity, v_name, v_version, v_one.item,
                                     NULL, NULL, NULL, NULL, NULL, v_one.first_try, v_one.try_no)::abide.work_lease;
        END IF;
        RETURN;
    END IF;
    WITH queued AS (
        INSERT INTO abide.work (mailbox, execution, activity, session, tag, route, maker, attempts, lease, leased_until, due_at, item, first_try, try_no)
        SELECT CASE WHEN w.instance IS NULL THEN p_mailboxes[w.turn]
                    ELSE (SELECT i.no FROM abide.instance AS i WHERE i.id = w.instance) END,
               w.execution, w.activity, w.session, w.tag, w.route, p_maker, (v_nonces[w.rank] IS NOT NULL)::integer, v_nonces[w.rank],
               CASE WHEN v_nonces[w.rank] IS NOT NULL THEN v_until END, CASE WHEN v_nonces[w.rank] IS NOT NULL THEN v_until END, w.item,
               w.first_try, w.try_no
        FROM unnest(p_work, v_routes) AS w (turn, instance, execution, activity, session, tag, rank, item, name, first_try, try_no, route)
        RETURNING no, mailbox, execution, activity, session, route, lease, item, first_try, try_no
    )
    SELECT coalesce(array_agg(DISTINCT q.route) FILTER (WHERE q.lease IS NULL), '{}'),
           coalesce(array_agg(q.session) FILTER (WHERE q.session IS NOT NULL), '{}'),
           coalesce(array_agg(q.route) FILTER (WHERE q.session IS NOT NULL), '{}'),
           leases || array_agg(ROW (q.no, q.mailbox, q.lease, 1, i.id, q.execution, q.activity, i.name,
                                    CASE WHEN i.status <> '' THEN i.version ELSE '' END, q.item, NULL, NULL, NULL, NULL, NULL,
                                    q.first_try, q.try_no)
                                   ::abide.work_lease ORDER BY q.no) FILTER (WHERE q.lease IS NOT NULL),
           max(q.no)
    INTO routes, sessions, session_routes, leases, last
    FROM queued AS q LEFT JOIN abide.instance AS i ON q.lease IS NOT NULL AND i.no = ANY (ARRAY[q.mailbox]);
END $$;
