-- The route of a mailbox that is not leased, for those that abide.settle cannot tell at a glance: from what it runs next, its pin, who
-- refused it, the attempts of its first visible message (null if there is none), and whether a cancel is visible. Mail that is visible starts
-- the clock of builds that may try again; retry_at is when they may. Mail that waited for a start does so no more if there is one.
CREATE FUNCTION abide.routed(p_mailbox abide.mailbox, p_attempts integer, p_now bigint) RETURNS abide.routing LANGUAGE plpgsql AS $$
DECLARE
    v_routing abide.routing;
    v_block abide.block;
    v_refused text := '';
    v_orchestration text;    v_version text;
    v_cancel bigint := 0;    v_place bigint;
BEGIN
    v_routing.flags := p_mailbox.flags;
    IF p_mailbox.flags & 1 = 1 THEN
        SELECT k.* INTO v_block FROM abide.block AS k WHERE k.mailbox = p_mailbox.no;
        IF NOT FOUND THEN
            v_routing.flags := v_routing.flags - 1;
        ELSIF NOT v_block.is_open THEN
            v_refused := v_block.refused;
            IF v_block.retry_at IS NULL AND v_block.retry_after IS NOT NULL AND p_attempts IS NOT NULL THEN
                v_block.retry_at := abide.later(
                    coalesce((SELECT m.visible_at FROM abide.message AS m WHERE m.mailbox = p_mailbox.no AND m.visible_at <= p_now
                              ORDER BY m.visible_at LIMIT 1), p_now), v_block.retry_after);
                UPDATE abide.block AS k SET retry_at = v_block.retry_at WHERE k.mailbox = p_mailbox.no;
            END IF;
            v_routing.retry_at := v_block.retry_at;
        END IF;
    END IF;
    IF p_mailbox.flags & 2 = 2 THEN
        -- One that is hidden comes last, and has no place.
        SELECT m.place INTO v_place FROM abide.message AS m WHERE m.mailbox = p_mailbox.no AND m.class = 5 ORDER BY m.place LIMIT 1;
        IF NOT FOUND THEN
            v_routing.flags := v_routing.flags - 2;
        ELSIF v_place IS NOT NULL THEN
            v_cancel := 1099511627776;
        END IF;
    END IF;
    IF p_mailbox.flags & 4 = 4 AND (p_mailbox.execution > 0 OR EXISTS (
           SELECT FROM abide.message AS s WHERE s.mailbox = p_mailbox.no AND s.class IN (1, 2))) THEN
        v_routing.flags := v_routing.flags - 4;
    END IF;
    IF p_mailbox.execution = 0 OR p_mailbox.status = 'ContinuedAsNew' THEN
        SELECT r.orchestration, r.version INTO v_orchestration, v_version FROM abide.route AS r
        WHERE r.no = (SELECT m.code FROM abide.message AS m
                      WHERE m.mailbox = p_mailbox.no AND m.class IN (1, 2) AND m.place IS NOT NULL AND m.code IS NOT NULL
                        AND (p_mailbox.execution = 0 OR m.class = 2)
                      ORDER BY m.place LIMIT 1);
    ELSIF p_mailbox.status NOT IN ('Completed', 'Failed') THEN
        -- Also if the status is damaged: only code can tell.
        SELECT i.name, i.version INTO v_orchestration, v_version FROM abide.instance AS i WHERE i.no = p_mailbox.no;
    END IF;
    v_routing.route := abide.route_no(coalesce(v_orchestration, ''), coalesce(v_version, ''), p_mailbox.pin, v_refused) * 2
           + (coalesce(p_attempts, 0) >= 3)::integer + CASE WHEN p_mailbox.pin <> '' THEN 274877906944 ELSE 0 END
           + CASE WHEN v_refused <> '' THEN 549755813888 ELSE 0 END + v_cancel;
    RETURN v_routing;
END $$;
