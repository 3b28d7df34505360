-- Starts one instance whose name is new, as most starts do: nobody else can see its rows yet, so that nothing is to be found or locked, and it
-- is known what it offers.
-- (docs/adr/0013-commit-lone-turns-separately-and-batch-commits-in-a-backlog.md.)
-- Whatever has its name already is told as one of many. The results are
-- those of abide.enqueue_messages, for one.
CREATE FUNCTION abide.start_one(
    p_message abide.new_message, p_delay_ms bigint, p_key bytea, p_only_once boolean, p_offer abide.instance_offer,
    OUT outcomes text[], OUT wakes bigint[], OUT due_at bigint,
    OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_hour_ago bigint;
    v_mailbox bigint;    v_sent bigint;    v_code bigint;    v_route bigint;
    v_hidden_until bigint;    v_leased_until bigint;
BEGIN
    IF EXISTS (SELECT FROM abide.instance AS i WHERE i.id = p_message.recipient) THEN
        SELECT e.outcomes, e.wakes, e.due_at, e.now, e.instance_leases, e.messages
        INTO outcomes, wakes, due_at, now, instance_leases, messages
        FROM abide.enqueue_messages(ARRAY[p_message], ARRAY[p_delay_ms], ARRAY[p_key], ARRAY[p_only_once], p_offer) AS e;
        RETURN;
    END IF;
    now := abide.now();    wakes := '{}';
    IF p_key IS NOT NULL THEN
        v_hour_ago := now - 3600000;
        INSERT INTO abide.request AS r (key, seen_at) VALUES (p_key, now)
        ON CONFLICT (key) DO UPDATE SET seen_at = now WHERE r.seen_at <= v_hour_ago;
        IF NOT FOUND THEN
            outcomes := '{repeated}';
            RETURN;
        END IF;
        -- More than come, so that they do not pile up.
        DELETE FROM abide.request WHERE key = ANY (ARRAY(
            SELECT r.key FROM abide.request AS r WHERE r.seen_at <= v_hour_ago ORDER BY r.seen_at LIMIT 18 FOR UPDATE SKIP LOCKED));
    END IF;
    v_mailbox := nextval('abide.mailbox_number');
    INSERT INTO abide.instance (no, id) VALUES (v_mailbox, p_message.recipient) ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another call started the instance at the same time' USING ERRCODE = 'serialization_failure';
    END IF;
    now := abide.now();    outcomes := '{ok}';
    v_hidden_until := greatest(p_message.visible_at, abide.later(now, p_delay_ms));
    v_code := abide.route_no(p_message.orchestration, p_message.version, '', '');    v_route := coalesce(v_code, 1) * 2;
    INSERT INTO abide.message (mailbox, class, visible_at, execution, event, parent, item, code)
    VALUES (v_mailbox, p_message.class, CASE WHEN v_hidden_until > now THEN v_hidden_until END, p_message.execution, p_message.event,
            p_message.parent, p_message.item, v_code)
    RETURNING no, visible_at INTO v_sent, v_hidden_until;
    IF v_hidden_until IS NULL AND coalesce(cardinality(p_offer.nonces), 0) > 0
       AND abide.takes_route(v_route, p_offer.routes, p_offer.known, p_offer.marks, p_offer.suspects) AND NOT abide.is_passed_by(v_sent, p_offer) THEN
        v_leased_until := abide.later(now, p_offer.lease_ms);
        IF octet_length(p_message.item) > 1048576 THEN
            v_leased_until := greatest(v_leased_until, abide.lasting(octet_length(p_message.item)));
        END IF;
        INSERT INTO abide.mailbox (no, id, lease, leased_until, batch_to, batch_first, due_at, route)
        VALUES (v_mailbox, p_message.recipient, p_offer.nonces[1], v_leased_until, 0, v_sent, v_leased_until, v_route);
        instance_leases := ARRAY[ROW (v_mailbox, p_offer.nonces[1], p_message.recipient, 0, 0, '', '', 'unknown', NULL, NULL,
                                      NULL, NULL)::abide.instance_lease];
        messages := ARRAY[ROW (v_mailbox, v_sent, 1, p_message.item)::abide.leased_message];
    ELSE
        wakes := CASE WHEN v_hidden_until IS NULL THEN ARRAY[v_route] ELSE '{}' END;    due_at := v_hidden_until;
        INSERT INTO abide.mailbox (no, id, ready, due_at, route)
        VALUES (v_mailbox, p_message.recipient, CASE WHEN v_hidden_until IS NULL THEN v_sent END, v_hidden_until, v_route);
    END IF;
END $$;
