-- Leases mailboxes, which are locked and can be leased, with the messages that each hands out: first what starts an execution and the
-- lowest cancel behind all for which there is room, then in order; at most 1,000, and none behind the first 4 MB, but always those that come
-- first. p_counts: whether a lease on a suspect counts as an attempt at once. A message is neither written nor locked: the batch is "what is visible up to here" (abide.batch). Once they have handed out 16 MiB together (LEASE_BYTES), the rest is not leased.
CREATE FUNCTION abide.hand_out(
    p_taken bigint[], p_nonces bigint[], p_until bigint, p_counts boolean, OUT leases abide.instance_lease[], OUT messages abide.leased_message[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_box record;
    v_first bigint;     v_attempts integer;           v_item text;           -- the message that starts an execution
    v_cancel bigint;    v_cancel_attempts integer;    v_cancel_item text;    -- a cancel for which there is no room
    v_other record;    v_last bigint;                         -- those behind them
    v_bytes bigint;    v_bytes_of_others bigint;
    v_block abide.block;                                      -- what blocks it, and who refused it
    v_handed_out bigint := 0;                                 -- bytes, by those before
    v_lowest bigint;    v_crashes integer;                    -- the message that says whether it is a suspect
    v_until bigint;
BEGIN
    FOR v_place IN 1 .. cardinality(p_taken) LOOP
        EXIT WHEN v_handed_out >= 16777216;
        SELECT b.no, b.id, b.execution, b.last_event, b.status, b.flags, i.name, i.version, i.parent, i.parent_execution, i.parent_event
        INTO v_box
        FROM abide.mailbox AS b JOIN abide.instance AS i ON i.no = b.no WHERE b.no = p_taken[v_place];
        CONTINUE WHEN NOT FOUND;
        v_first := NULL;    v_cancel := NULL;    v_lowest := NULL;    v_crashes := 0;
        IF v_box.execution = 0 OR v_box.status = 'ContinuedAsNew' THEN
            -- One that is hidden comes last, and has no place.
            SELECT m.place, m.attempts, m.item INTO v_first, v_attempts, v_item FROM abide.message AS m
            WHERE m.mailbox = v_box.no AND m.class IN (1, 2) AND (v_box.execution = 0 OR m.class = 2) ORDER BY m.place LIMIT 1;
        END IF;
        LOOP
            v_bytes := CASE WHEN v_first IS NULL THEN 0 ELSE octet_length(v_item) END
                     + CASE WHEN v_cancel IS NULL THEN 0 ELSE octet_length(v_cancel_item) END;
            -- How far it goes is found by their lengths, without reading them.
            SELECT max(m.no), sum(m.bytes) INTO v_last, v_bytes_of_others
            FROM (SELECT m.no, octet_length(m.item) AS bytes FROM abide.message AS m
                  WHERE m.mailbox = v_box.no AND m.place IS NOT NULL AND m.place IS DISTINCT FROM v_first AND m.place IS DISTINCT FROM v_cancel
                  ORDER BY m.place LIMIT 1000 - num_nonnulls(v_first, v_cancel)) AS m;
            IF v_bytes + v_bytes_of_others > 4194304 THEN
                SELECT max(m.no), sum(m.bytes) INTO v_last, v_bytes_of_others
                FROM (SELECT m.no, m.bytes, v_bytes + sum(m.bytes) OVER (ORDER BY m.no) - m.bytes AS before
                      FROM (SELECT m.no, octet_length(m.item) AS bytes FROM abide.message AS m
                            WHERE m.mailbox = v_box.no AND m.place <= v_last AND m.place IS DISTINCT FROM v_first
                              AND m.place IS DISTINCT FROM v_cancel) AS m) AS m
                WHERE m.before < 4194304;
            END IF;
            EXIT WHEN v_cancel IS NOT NULL OR v_box.flags & 2 = 0;
            -- A cancel behind all of these would wait until they are read, which a blocked instance never does.
            SELECT m.place, m.attempts, m.item INTO v_cancel, v_cancel_attempts, v_cancel_item FROM abide.message AS m
            WHERE m.mailbox = v_box.no AND m.class = 5 AND m.place > coalesce(v_last, 0) ORDER BY m.place LIMIT 1;
            EXIT WHEN v_cancel IS NULL;
        END LOOP;
        IF v_first IS NOT NULL THEN
            v_lowest := v_first;    v_crashes := v_attempts;
            messages := messages || ROW (v_box.no, v_first, v_attempts + 1, v_item)::abide.leased_message;
        END IF;
        IF v_cancel IS NOT NULL THEN
            IF v_lowest IS NULL OR v_cancel < v_lowest THEN
                v_lowest := v_cancel;    v_crashes := v_cancel_attempts;
            END IF;
            messages := messages || ROW (v_box.no, v_cancel, v_cancel_attempts + 1, v_cancel_item)::abide.leased_message;
        END IF;
        IF v_last IS NOT NULL THEN
            v_bytes := v_bytes + v_bytes_of_others;
            FOR v_other IN
                SELECT m.no, m.attempts, m.item FROM abide.message AS m
                WHERE m.mailbox = v_box.no AND m.place <= v_last AND m.place IS DISTINCT FROM v_first
                  AND m.place IS DISTINCT FROM v_cancel
                ORDER BY m.place
            LOOP
                IF NOT p_counts AND (v_lowest IS NULL OR v_other.no < v_lowest) THEN
                    v_lowest := v_other.no;    v_crashes := v_other.attempts;
                END IF;
                messages := messages || ROW (v_box.no, v_other.no, v_other.attempts + 1, v_other.item)::abide.leased_message;
            END LOOP;
        END IF;
        v_handed_out := v_handed_out + v_bytes;
        v_block := NULL;
        IF v_box.flags & 1 = 1 THEN
            SELECT k.* INTO v_block FROM abide.block AS k WHERE k.mailbox = v_box.no;
        END IF;
        leases := leases || ROW (v_box.no, p_nonces[v_place], v_box.id, v_box.execution, v_box.last_event, v_box.status, v_box.name,
                                 v_box.version, v_box.parent, v_box.parent_execution, v_box.parent_event,
                                 CASE WHEN v_block.mailbox IS NOT NULL THEN v_block END)::abide.instance_lease;
        UPDATE abide.mailbox AS b
        SET lease = p_nonces[v_place], leased_until = p_until, ready = NULL, due_at = p_until, batch_to = coalesce(v_last, 0),
            batch_first = v_first, batch_cancel = v_cancel, flags = b.flags & ~4, lease_counts = p_counts OR v_crashes < 3
        WHERE b.no = v_box.no;
    END LOOP;
    IF v_handed_out > 1048576 THEN
        v_until := abide.lasting(v_handed_out);
        UPDATE abide.mailbox AS b SET leased_until = v_until, due_at = v_until
        WHERE b.no = ANY (ARRAY(SELECT l.mailbox FROM unnest(leases) AS l)) AND b.leased_until < v_until;
    END IF;
END $$;
