-- Does what a step does, and takes it back: a session plans a statement when it first runs it, and that takes longer than many calls.
-- Nobody sees anything of it, and no row of anybody else is touched. Called once by every session that will commit turns.
CREATE FUNCTION abide.rehearse() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_is_alone boolean;
    v_id text;
    v_turn abide.new_turn;
    v_message abide.new_message;    v_note abide.new_message;
    v_outline abide.outline;
    v_mailbox bigint;
    v_work abide.new_work[];
    v_offer abide.work_offer;
    v_step bigint;
BEGIN
    -- All tables first, or none: somebody may be dropping them, one after the other, and neither should wait for the other.
    PERFORM nextval('abide.number'), nextval('abide.mailbox_number');
    LOCK TABLE abide.instance, abide.mailbox, abide.execution, abide.turn, abide.message, abide.work, abide.session, abide.lane,
               abide.kv_store, abide.kv_delta, abide.request, abide.dead_letter, abide.block IN ROW EXCLUSIVE MODE NOWAIT;
    -- As many turns are committed, and as one that is alone.
    FOREACH v_is_alone IN ARRAY '{false, true}'::boolean[] LOOP
        v_id := 'rehearsal ' || pg_backend_pid() || v_is_alone;
        v_turn := NULL;    v_outline := NULL;
        v_message := ROW (1, v_id, 1, NULL, NULL, NULL, NULL, '{}', '', '')::abide.new_message;
        IF v_is_alone THEN
            PERFORM abide.start_one(v_message, NULL, convert_to(v_id, 'UTF8'), true, NULL);
        ELSE
            PERFORM abide.enqueue_messages(ARRAY[v_message], '{NULL}', '{NULL}', '{true}', NULL);
        END IF;
        SELECT b.no INTO v_mailbox FROM abide.mailbox AS b WHERE b.no = (SELECT i.no FROM abide.instance AS i WHERE i.id = v_id);
        PERFORM abide.settle(ARRAY[v_mailbox], ROW (60000, '{1}', '{0}', 0, NULL, NULL)::abide.instance_offer, abide.now());
        -- Also if somebody has waited for longer.
        PERFORM abide.hand_out(ARRAY[v_mailbox], '{1}', abide.later(abide.now(), 60000), true);

        -- A first turn, which begins an activity and tells its own instance something (a timer, if it is alone), and a step by what that
        -- activity brings.
        v_turn.turn := 1;    v_turn.instance := v_id;    v_turn.mailbox := v_mailbox;    v_turn.nonce := 1;    v_turn.consumes_all := true;
        v_turn.creates := true;    v_turn.execution := 1;    v_turn.first_event := 1;    v_turn.last_event := 1;    v_turn.length := 1;
        v_turn.events := '[]';    v_turn.sets_custom_status := false;    v_turn.clears_kv := false;    v_turn.folds_kv := true;
        v_turn.ends_timers := false;    v_turn.authority := 'lease';
        -- Somebody waits for work, and is given what is older, under a tag that nobody else can have.
        INSERT INTO abide.work (mailbox, execution, activity, tag, route, item) VALUES (v_mailbox, 1, 0, 'rehearsal', 274877906946, '{}');
        v_outline.mailboxes := ARRAY[v_mailbox];    v_outline.required := ARRAY[v_id];    v_outline.optional := '{}';    v_outline.node := 1;
        v_outline.names := false;    v_outline.consumes_some := false;    v_outline.prunes := false;    v_outline.writes_kv := true;
        v_outline.timers := true;    v_outline.work := '{}';
        v_work := ARRAY[ROW (1, NULL, 1, 1, NULL, 'rehearsal', 1, '{}', NULL, NULL, NULL)::abide.new_work];
        v_offer := ROW (60000, '{1}', 1, NULL, false)::abide.work_offer;
        IF v_is_alone THEN
            v_message := ROW (1, v_id, 4, abide.later(abide.now(), 60000), 1, 2, NULL, '{}', NULL, NULL)::abide.new_message;
            PERFORM abide.commit_one(v_turn, v_work, ARRAY[v_message], 1, NULL, v_offer);
        ELSE
            v_work := v_work || ROW (1, NULL, 1, 2, NULL, 'rehearsal', 2, '{}', NULL, NULL, NULL)::abide.new_work;
            v_note := ROW (1, v_id, 3, NULL, NULL, NULL, NULL, '{}', NULL, NULL)::abide.new_message;
            PERFORM abide.commit_turns(ARRAY[v_turn], v_work, '{}', ARRAY[v_message, v_note], v_outline, NULL, v_offer);
        END IF;
        DELETE FROM abide.message WHERE no = ANY (ARRAY(
            SELECT m.no FROM abide.message AS m WHERE m.mailbox = v_mailbox AND m.place IS NOT NULL ORDER BY m.place));
        PERFORM abide.settle(ARRAY[v_mailbox], NULL, abide.now());
        UPDATE abide.work SET lease = 1, leased_until = abide.later(abide.now(), 60000) WHERE mailbox = v_mailbox AND activity = 1
        RETURNING no INTO v_step;
        v_turn.authority := 'work';    v_turn.work := v_step;    v_turn.expected_mailbox := v_mailbox;    v_turn.expected_execution := 1;
        v_turn.expected_event := 1;    v_turn.first_event := 2;    v_turn.last_event := 2;    v_turn.status := 'Completed';
        v_turn.ends_timers := true;
        v_outline.required := '{}';    v_outline.work := ARRAY[v_step];
        IF v_is_alone THEN
            PERFORM abide.commit_one(v_turn, '{}', '{}', 1, NULL, NULL);
        ELSE
            PERFORM abide.commit_turns(ARRAY[v_turn], '{}', '{}', '{}', v_outline, NULL, NULL);
        END IF;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'ABIDE';
EXCEPTION WHEN SQLSTATE 'ABIDE' OR lock_not_available THEN
    NULL;
END $$;
