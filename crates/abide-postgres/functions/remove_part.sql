-- Removes up to p_rows rows of one deleted mailbox that no other node is at; or, if there is none, messages that have waited for a start for
-- too long. after_ms says when to look again; null if nothing is left. Losing it in a crash loses nothing: the tombstone is still there.
CREATE FUNCTION abide.remove_part(p_rows bigint, OUT after_ms bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_mailbox bigint;
    v_left bigint := p_rows;
    v_gone bigint;
BEGIN
    -- Mostly there is nothing, and then nothing else is asked.
    IF (SELECT true FROM abide.tombstone AS t ORDER BY t.held_until LIMIT 1) IS NULL
       AND (SELECT true FROM abide.message AS m WHERE m.expires_at IS NOT NULL ORDER BY m.expires_at LIMIT 1) IS NULL THEN
        RETURN;
    END IF;
    v_now := abide.now();
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT t.mailbox INTO v_mailbox FROM abide.tombstone AS t WHERE t.held_until <= v_now
    ORDER BY t.held_until LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF v_mailbox IS NULL AND abide.remove_expired(p_rows, v_now) = 0 THEN
        -- Another node may be at what is due.
        after_ms := greatest(1000, least(
            (SELECT t.held_until FROM abide.tombstone AS t ORDER BY t.held_until LIMIT 1),
            (SELECT m.expires_at FROM abide.message AS m WHERE m.expires_at IS NOT NULL ORDER BY m.expires_at LIMIT 1)) - v_now);
        RETURN;
    END IF;
    after_ms := 0;
    IF v_mailbox IS NULL THEN
        RETURN;
    END IF;
    DELETE FROM abide.message WHERE ctid = ANY (ARRAY(
        SELECT m.ctid FROM abide.message AS m WHERE m.mailbox = v_mailbox AND m.place IS NOT NULL ORDER BY m.place LIMIT v_left));
    GET DIAGNOSTICS v_gone = ROW_COUNT;    v_left := v_left - v_gone;
    DELETE FROM abide.message WHERE ctid = ANY (ARRAY(
        SELECT m.ctid FROM abide.message AS m WHERE m.mailbox = v_mailbox AND m.visible_at IS NOT NULL
        ORDER BY m.visible_at LIMIT v_left));
    GET DIAGNOSTICS v_gone = ROW_COUNT;    v_left := v_left - v_gone;
    DELETE FROM abide.turn WHERE ctid = ANY (ARRAY(
        SELECT t.ctid FROM abide.turn AS t WHERE t.mailbox = v_mailbox ORDER BY t.execution, t.last_event LIMIT v_left));
    GET DIAGNOSTICS v_gone = ROW_COUNT;    v_left := v_left - v_gone;
    DELETE FROM abide.execution WHERE ctid = ANY (ARRAY(
        SELECT e.ctid FROM abide.execution AS e WHERE e.mailbox = v_mailbox ORDER BY e.no LIMIT v_left));
    GET DIAGNOSTICS v_gone = ROW_COUNT;    v_left := v_left - v_gone;
    DELETE FROM abide.kv_delta WHERE ctid = ANY (ARRAY(
        SELECT k.ctid FROM abide.kv_delta AS k WHERE k.mailbox = v_mailbox ORDER BY k.key LIMIT v_left));
    GET DIAGNOSTICS v_gone = ROW_COUNT;    v_left := v_left - v_gone;
    DELETE FROM abide.kv_store WHERE ctid = ANY (ARRAY(
        SELECT k.ctid FROM abide.kv_store AS k WHERE k.mailbox = v_mailbox ORDER BY k.key LIMIT v_left));
    GET DIAGNOSTICS v_gone = ROW_COUNT;    v_left := v_left - v_gone;
    IF v_left > 0 THEN
        DELETE FROM abide.tombstone WHERE mailbox = v_mailbox;
    END IF;
END $$;
