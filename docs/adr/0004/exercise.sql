-- Exercises every function of postgresql.sql at least once. Anything unexpected stops it; silence is success.
--
--   cd docs/adr/0004
--   pg_virtualenv psql -X -v ON_ERROR_STOP=1 -f postgresql.sql -f exercise.sql
--
-- pg_virtualenv (Debian's postgresql-common) starts a server, runs psql against it and removes it again; it works as
-- root. Anywhere else: an empty database, and the two files by psql as a superuser (for dblink and auto_explain).
-- Time is abide.now, so nothing sleeps, but for the part about the clock, which takes half a second.

\set QUIET 1
\pset pager off
\o /dev/null
SET client_min_messages = warning;
CREATE EXTENSION dblink;

------------------------------------------------------------------------------------------------ words for what follows

CREATE TABLE public.seen (what text PRIMARY KEY, mailbox bigint, work bigint, nonce uuid);    -- tokens, by a name

CREATE FUNCTION public.at(p_now bigint) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('abide.now', p_now::text, false)
$$;

CREATE FUNCTION public.is(p_found anyelement, p_expected anyelement, p_what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_found IS DISTINCT FROM p_expected THEN
        RAISE EXCEPTION '%: found %, expected %', p_what, p_found, p_expected;
    END IF;
END $$;

-- Leases instances, remembers their tokens by name, and says what came: 'a[1:start,2:other]'.
CREATE FUNCTION public.take(p_limit integer, p_from text[] DEFAULT NULL, p_to text[] DEFAULT NULL, p_ms bigint DEFAULT 1000)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_lease record;
    v_all text := '';
BEGIN
    FOR v_lease IN SELECT * FROM abide.lease_instances(p_limit, p_ms, 'node-1', p_from, p_to) LOOP
        INSERT INTO public.seen VALUES (v_lease.instance, v_lease.mailbox, NULL, v_lease.nonce)
        ON CONFLICT (what) DO UPDATE SET mailbox = excluded.mailbox, nonce = excluded.nonce;
        v_all := v_all || ' ' || v_lease.instance || '(' || array_to_string(v_lease.message_items, ',') || '|'
                       || array_to_string(v_lease.message_attempts, ',') || ')';
    END LOOP;
    RETURN trim(v_all);
END $$;

CREATE FUNCTION public.take_work(p_limit integer, p_tags text[], p_session_owner text DEFAULT NULL)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_lease record;
    v_all text := '';
BEGIN
    FOR v_lease IN SELECT * FROM abide.lease_work(p_limit, 1000, 'node-1', p_tags, p_session_owner, 5000) LOOP
        INSERT INTO public.seen VALUES (v_lease.item, v_lease.mailbox, v_lease.work, v_lease.nonce)
        ON CONFLICT (what) DO UPDATE SET mailbox = excluded.mailbox, work = excluded.work, nonce = excluded.nonce;
        v_all := v_all || ' ' || v_lease.item || '|' || v_lease.attempt;
    END LOOP;
    RETURN trim(v_all);
END $$;

-- A turn with little in it. The rest is set by name.
CREATE FUNCTION public.turn(
    p_turn integer, p_instance text, p_execution bigint DEFAULT 1, authority text DEFAULT 'lease', by_work text DEFAULT NULL,
    expected_event bigint DEFAULT NULL, consumes_all boolean DEFAULT true, orchestration text DEFAULT NULL,
    parent text DEFAULT NULL, pin_key text DEFAULT NULL, status text DEFAULT NULL, output text DEFAULT NULL,
    custom_status text DEFAULT NULL, kv_clear boolean DEFAULT false, prune boolean DEFAULT false, keep_last integer DEFAULT NULL
) RETURNS abide.turn LANGUAGE sql AS $$
    SELECT ROW (p_turn, p_instance, authority,
        (SELECT mailbox FROM public.seen WHERE what = coalesce(by_work, p_instance)),
        (SELECT nonce FROM public.seen WHERE what = coalesce(by_work, p_instance)),
        (SELECT s.work FROM public.seen AS s WHERE s.what = by_work), p_execution, expected_event,
        p_execution, consumes_all, true, orchestration, '1.0.0', parent, NULL, NULL, pin_key, pin_key, status, output,
        custom_status IS NOT NULL, custom_status, kv_clear, status IS NOT NULL AND status <> 'Running',
        status IS NOT NULL AND status <> 'Running', prune, keep_last, NULL)::abide.turn
$$;

CREATE FUNCTION public.mail(p_turn integer, p_to text, p_class text, p_item text, p_at bigint DEFAULT NULL,
                            p_event bigint DEFAULT NULL) RETURNS abide.mail LANGUAGE sql AS $$
    SELECT ROW (p_turn, p_to, p_class, p_at, CASE WHEN p_class = 'timer' THEN 1 END, p_event, p_item)::abide.mail
$$;

-- Commits, and gives the outcomes and the news as one line.
CREATE FUNCTION public.commit(
    turns abide.turn[], events abide.new_event[] DEFAULT '{}', kv abide.kv_change[] DEFAULT '{}',
    work abide.new_work[] DEFAULT '{}', revoked abide.revoked[] DEFAULT '{}', mail abide.mail[] DEFAULT '{}',
    timers abide.numbered[] DEFAULT '{}', consumed abide.numbered[] DEFAULT '{}'
) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', array_to_string(outcomes, ','), CASE WHEN wakes THEN 'wakes' END,
                     nullif('tags=' || tags::text, 'tags={}'), 'due=' || due, nullif('stolen=' || cardinality(stolen), 'stolen=0'),
                     nullif(array_to_string(because, ','), ''), nullif('pruned=' || pruned_executions, 'pruned=0'))
    FROM abide.commit_turns(turns, consumed, events, kv, work, revoked, mail, timers)
$$;

CREATE FUNCTION public.finish(VARIADIC p_what text[]) RETURNS text LANGUAGE sql AS $$
    SELECT array_to_string(f.outcomes, ',') || CASE WHEN f.wakes THEN ' wakes' ELSE '' END
    FROM (SELECT array_agg(s.work ORDER BY w.place) AS w, array_agg(s.mailbox ORDER BY w.place) AS b,
                 array_agg(s.nonce ORDER BY w.place) AS n, array_agg(i.name ORDER BY w.place) AS i,
                 array_agg('done:' || w.what ORDER BY w.place) AS d
          FROM unnest(p_what) WITH ORDINALITY AS w (what, place) JOIN public.seen AS s ON s.what = w.what
          LEFT JOIN abide.instance AS i ON i.id = s.mailbox) AS a,
         abide.finish_work(a.w, a.b, a.n, a.i, a.d) AS f
$$;

\echo '-- enqueueing'
SELECT at(1000);
SELECT is((abide.enqueue_messages(ARRAY[mail(1, 'a', 'other', 'cancel-a'), mail(2, 'a', 'start', 'start-a'), mail(3, 'b', 'queue', 'lost')],
    ARRAY[NULL, NULL, NULL]::bigint[], ARRAY['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002', NULL]::uuid[])).outcomes,
    ARRAY['ok', 'ok', 'ok'], 'three messages');
SELECT is((abide.enqueue_messages(ARRAY[mail(1, 'a', 'start', 'start-a')], ARRAY[NULL]::bigint[],
    ARRAY['00000000-0000-0000-0000-000000000002']::uuid[])).outcomes, ARRAY['repeated'], 'the same request');
SELECT is((SELECT string_agg(item, ',' ORDER BY id) FROM abide.message), 'cancel-a,start-a', 'a queue message for nobody is dropped');
SELECT is((SELECT count(*) FROM abide.mailbox), 1::bigint, 'and makes no mailbox');
SELECT abide.enqueue_messages(ARRAY[mail(1, 'late', 'start', 'start-late')], ARRAY[500]::bigint[], ARRAY[NULL]::uuid[]);
SELECT is(abide.next_due_instances(NULL, NULL), 0::bigint, 'something is ready now');

\echo '-- leasing instances'
SELECT is(take(0), '', 'none wanted');
SELECT is(take(10, '{}', '{}'), '', 'no range takes nothing');
SELECT is(take(10), 'a(start-a,cancel-a|1,1)', 'what starts comes first');
SELECT is(take(10), '', 'leased');
SELECT is(abide.next_due_instances(NULL, NULL), 1500::bigint, 'the delayed message is next');
SELECT at(1500);
SELECT is(take(10), 'late(start-late|1)', 'a delayed message shows');
SELECT is(abide.next_due_instances(NULL, NULL), 2000::bigint, 'then the end of a lease');
\echo '-- the fence'
SELECT is((SELECT (abide.commit_turns(ARRAY[ROW (1, 'a', 'lease', s.mailbox, gen_random_uuid(), NULL, NULL, NULL, 1, true, true, 'A',
    '1', NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, false, false, false, false, NULL, NULL)::abide.turn], '{}',
    ARRAY[ROW (1, 1, 'e1')::abide.new_event], '{}', '{}', '{}', ARRAY[mail(1, 'nobody', 'start', 'x')], '{}')).outcomes
    FROM seen AS s WHERE s.what = 'a'), ARRAY['lost'], 'another nonce');
SELECT at(2000);
SELECT is(commit(ARRAY[turn(1, 'a', orchestration => 'A')], ARRAY[ROW (1, 1, 'e1')::abide.new_event]), 'lost', 'a lease that ran out');
SELECT is((SELECT count(*) FROM abide.history) + (SELECT count(*) FROM abide.instance WHERE name = 'nobody'), 0::bigint,
          'a stale holder writes nothing');
SELECT is(take(1), 'a(start-a,cancel-a|2,2)', 'the attempt counted');

\echo '-- committing a turn'
SELECT is(commit(
    ARRAY[turn(1, 'a', orchestration => 'A', pin_key => '0002', custom_status => 'busy', status => 'Running', consumes_all => false)],
    ARRAY[ROW (1, 1, 'e1'), ROW (1, 2, 'e2'), ROW (1, 3, 'e3')]::abide.new_event[],
    ARRAY[ROW (1, 'k', 'v', 7)]::abide.kv_change[],
    ARRAY[ROW (1, 'a', 1, 2, NULL, '', 'plain'), ROW (1, 'a', 1, 3, NULL, '=gpu', 'gpu'), ROW (1, 'a', 1, 4, 's', '', 'in-s'),
          ROW (1, 'a', 1, 5, 's', '=gpu', 'gpu-in-s'), ROW (1, 'a', 1, 6, 't', '', 'in-t')]::abide.new_work[],
    mail => ARRAY[mail(1, 'a', 'timer', 'timer-7', 5000, 7), mail(1, 'a', 'timer', 'timer-8', 4000, 8), mail(1, 'kid', 'start', 'start-kid')],
    consumed => ARRAY[ROW (1, (SELECT id FROM abide.message WHERE item = 'start-a'))]::abide.numbered[]),
    'ok wakes tags={"",=gpu} due=4000', 'everything at once');
SELECT is((SELECT string_agg(item, ',' ORDER BY m.id) FROM abide.message AS m JOIN abide.instance AS i ON i.id = m.mailbox WHERE i.name = 'a'),
          'cancel-a,timer-7,timer-8', 'what was not consumed stays');
SELECT is((SELECT (execution_id, last_event_id, status, pin, nonce IS NULL, ready IS NOT NULL)::text FROM abide.mailbox WHERE name = 'a'),
          '(1,3,Running,0002,t,t)', 'the position');
SELECT is((SELECT (orchestration, version, custom_status, custom_status_version)::text FROM abide.instance WHERE name = 'a'),
          '(A,1.0.0,busy,1)', 'the instance');
SELECT is((SELECT string_agg(key || value, '') FROM abide.kv_live('a')), 'kv', 'the delta is seen');
SELECT is((SELECT count(*) FROM abide.kv), 0::bigint, 'and not stored yet');
SELECT is(ARRAY(SELECT unnest(e) FROM abide.history_after((SELECT id FROM abide.instance WHERE name = 'a'), 1, 2) AS e), ARRAY['e1', 'e2', 'e3'],
          'the piece that holds what is behind event 2');
SELECT is((SELECT (events, bytes, keys, value_bytes)::text FROM abide.instance_stats('a')), '(3,6,1,1)', 'the size');

\echo '-- capabilities'
SELECT at(2100);
SELECT is(take(10, ARRAY['0003'], ARRAY['0009']), 'kid(start-kid|1)', 'a pin outside the range is passed over');
SELECT is(take(10, ARRAY['0001'], ARRAY['0002']), 'a(cancel-a|2)', 'inside it is taken; what was left keeps its attempts');
SELECT is(commit(ARRAY[turn(1, 'a')], ARRAY[ROW (1, 3, 'again')]::abide.new_event[]), 'conflict', 'the event is there already');
SELECT is(commit(ARRAY[turn(1, 'a')]), 'ok due=4000', 'an empty commit only consumes');

\echo '-- leasing work'
SELECT is(take_work(5, '{}'), '', 'no tag');
SELECT is(take_work(5, ARRAY['']), 'plain|1', 'without a tag and without a session');
SELECT is(take_work(5, ARRAY['=gpu'], 'w1'), 'gpu|1 gpu-in-s|1', 'a tag, and the session is claimed');
SELECT is(take_work(5, NULL, 'w2'), 'in-t|1', 'the other session is free');
SELECT is(take_work(5, NULL, 'w1'), 'in-s|1', 'the owner takes more of it');
SELECT is(abide.next_due_work(NULL, 'w1'), 3100::bigint, 'then the end of a lease');

\echo '-- renewing and giving back'
SELECT at(2200);
SELECT is((SELECT abide.renew_work(ARRAY[p.work, g.work], ARRAY[p.nonce, gen_random_uuid()], 2000)
           FROM seen AS p, seen AS g WHERE p.what = 'plain' AND g.what = 'gpu'), ARRAY['ok', 'lost'], 'one of two');
SELECT is((SELECT (abide.abandon_work(ARRAY[s.work], ARRAY[s.nonce], ARRAY[100]::bigint[], ARRAY[true])).outcomes FROM seen AS s WHERE s.what = 'gpu'),
          ARRAY['ok'], 'given back with a delay');
SELECT is(take_work(5, ARRAY['=gpu']), '', 'hidden');
SELECT at(2300);
SELECT is(take_work(5, ARRAY['=gpu']), 'gpu|1', 'the attempt did not count');
SELECT is((SELECT abide.renew_instances(ARRAY[s.mailbox], ARRAY[s.nonce], 3000) FROM seen AS s WHERE s.what = 'kid'), ARRAY['ok'], 'renewed');
SELECT is((SELECT (abide.abandon_instances(ARRAY[s.mailbox], ARRAY[s.nonce], ARRAY[NULL]::bigint[], ARRAY[false])).outcomes
           FROM seen AS s WHERE s.what = 'kid'), ARRAY['ok'], 'given back');
SELECT is((SELECT abide.renew_instances(ARRAY[s.mailbox], ARRAY[s.nonce], 3000) FROM seen AS s WHERE s.what = 'kid'), ARRAY['lost'], 'gone');
SELECT is(take(1, p_ms => 100000), 'kid(start-kid|2)', 'leased a second time');
SELECT is(commit(ARRAY[turn(1, 'kid', orchestration => 'Kid', parent => 'a')], ARRAY[ROW (1, 1, 'k1')]::abide.new_event[]), 'ok', 'a child');

\echo '-- finishing work'
SELECT is(finish('plain', 'plain'), 'ok,lost wakes', 'once');
SELECT is((SELECT (f.outcomes)::text FROM seen AS s, abide.finish_work(ARRAY[s.work], ARRAY[s.mailbox], ARRAY[s.nonce], ARRAY['kid'], ARRAY['x']) AS f
           WHERE s.what = 'in-t'), '{invalid}', 'a completion for another instance');
SELECT is(take(1, p_ms => 100000), 'a(done:plain|1)', 'the instance hears of it');

\echo '-- a fused step'
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'gpu', expected_event => 3)]), 'busy', 'leased');
SELECT is(commit(ARRAY[turn(1, 'a')], ARRAY[ROW (1, 4, 'e4')]::abide.new_event[]), 'ok due=4000', 'the plain way');
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'gpu', expected_event => 3)]), 'busy due=4000', 'moved on');
SELECT abide.enqueue_messages(ARRAY[mail(1, 'a', 'other', 'event')], ARRAY[NULL]::bigint[], ARRAY[NULL]::uuid[]);
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'gpu', expected_event => 4)]), 'busy wakes due=4000', 'mail waits');
SELECT is(take(1), 'a(event|1)', 'so it is read first');
SELECT is(commit(ARRAY[turn(1, 'a')]), 'ok due=4000', 'consumed');
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'plain', expected_event => 4)]), 'lost due=4000', 'work that is gone');
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'in-s', expected_event => 4)],
    ARRAY[ROW (1, 5, 'e5')]::abide.new_event[], work => ARRAY[ROW (1, 'a', 1, 9, 's', '', 'in-s-2')]::abide.new_work[]),
    'ok tags={""} due=4000', 'one call for a step');
SELECT is((SELECT last_activity FROM abide.session WHERE name = 's'), 2300::bigint, 'its session was active');
SELECT is(take_work(5, ARRAY[''], 'w2'), '', 'the session is still another''s');
SELECT is(take_work(5, ARRAY[''], 'w1'), 'in-s-2|1', 'and its own');

\echo '-- several commits in one call, and what they take away'
SELECT is((abide.enqueue_messages(ARRAY[mail(1, 'a', 'other', 'x'), mail(2, 'kid', 'other', 'y')], ARRAY[NULL, NULL]::bigint[],
    ARRAY[NULL, NULL]::uuid[])).wakes, true, 'mail for two');
SELECT is(take(5), 'a(x|1) kid(y|1)', 'two leases in one call');
SELECT is(commit(
    ARRAY[turn(1, 'a'), turn(2, 'nobody'), turn(3, 'kid', status => 'Completed', output => '"done"'), turn(4, 'kid')],
    ARRAY[ROW (1, 6, 'e6'), ROW (2, 1, 'no'), ROW (3, 2, 'k2'), ROW (4, 3, 'no')]::abide.new_event[],
    revoked => ARRAY[ROW (1, 'a', 1, 5, 'dropped'), ROW (1, 'a', 1, 6, 'dropped'), ROW (1, 'a', 1, 99, 'dropped')]::abide.revoked[],
    mail => ARRAY[mail(3, 'a', 'other', 'kid-done')], timers => ARRAY[ROW (1, 8)]::abide.numbered[]),
    'ok,lost,ok,again wakes due=5000 stolen=2 dropped,dropped', 'each for itself');
SELECT is((SELECT abide.renew_work(ARRAY[s.work], ARRAY[s.nonce], 1000) FROM seen AS s WHERE s.what = 'in-t'), ARRAY['lost'], 'the holder finds out');
SELECT abide.tell(true, ARRAY[''], ARRAY['1.2.x'], ARRAY['dropped']);

\echo '-- continue as new: fold, prune, timers'
SELECT is(take(1), 'a(kid-done|1)', 'the parent hears of its child');
SELECT is(commit(ARRAY[turn(1, 'a', status => 'ContinuedAsNew', output => 'next')],
    ARRAY[ROW (1, 7, 'e7')]::abide.new_event[], ARRAY[ROW (1, 'gone', NULL, NULL)]::abide.kv_change[],
    mail => ARRAY[mail(1, 'a', 'other', 'early'), mail(1, 'a', 'continue', 'go-on')]), 'ok wakes', 'ended: its timers are gone');
SELECT is((SELECT string_agg(key || '=' || value, ',') FROM abide.kv), 'k=v', 'folded');
SELECT is(take(1), 'a(go-on,early|1,1)', 'the successor''s start comes first');
SELECT is(commit(ARRAY[turn(1, 'a', 2, orchestration => 'A', kv_clear => true, prune => true, keep_last => 2)],
    ARRAY[ROW (1, 1, 'f1')]::abide.new_event[], ARRAY[ROW (1, 'm', 'n', 9)]::abide.kv_change[]), 'ok', 'two may stay');
SELECT is((SELECT string_agg(key || value, '') FROM abide.kv_live('a')), 'mn', 'cleared, then set');
SELECT abide.enqueue_messages(ARRAY[mail(1, 'a', 'other', 'z')], ARRAY[NULL]::bigint[], ARRAY[NULL]::uuid[]);
SELECT is(take(1), 'a(z|1)', 'once more');
SELECT is(commit(ARRAY[turn(1, 'a', 2, prune => true)]), 'ok stolen=2 deleted,deleted pruned=1', 'the old execution goes, with its work');
SELECT is((SELECT count(*) FROM abide.history), 3::bigint, 'one turn of a and two of its child are left');
SELECT is((SELECT outcome || executions FROM abide.prune_executions('a', 1, NULL)), 'ok0', 'nothing to prune');
SELECT is((SELECT outcome FROM abide.prune_executions('nobody', 1, NULL)), 'unknown', 'nobody to prune');

\echo '-- seeding, and work without a turn'
SELECT is(commit(ARRAY[turn(1, 'seeded', authority => 'none', orchestration => 'S')], ARRAY[ROW (1, 1, 's1')]::abide.new_event[]), 'ok', 'a past');
SELECT is(abide.enqueue_work(ARRAY[ROW (1, 'seeded', 1, 1, 'u', '', 'broken')]::abide.new_work[]), ARRAY[''], 'work');

\echo '-- rows that cannot be read'
DO $$
DECLARE v_outcome text;
BEGIN
    FOR n IN 1..11 LOOP
        PERFORM at(1000000 + 100000 * n), take_work(1, NULL, 'w');
        SELECT abide.set_aside_work(s.work, s.mailbox, s.nonce, 'poison') INTO v_outcome FROM seen AS s WHERE s.what = 'broken';
        PERFORM is(v_outcome, CASE WHEN n = 11 THEN 'dead' ELSE 'ok' END, 'attempt ' || n);
    END LOOP;
END $$;
SELECT is(take(9), 'late(start-late|2) seeded(poison|1)', 'its instance is told, when its turn comes');
SELECT is((SELECT abide.set_aside_messages(s.mailbox, s.nonce, ARRAY(SELECT id FROM abide.message WHERE item = 'poison')) FROM seen AS s
           WHERE s.what = 'seeded'), 'empty', 'nothing left: the lease is gone');
SELECT is((SELECT (attempts, visible_at)::text FROM abide.message WHERE item = 'poison'), '(1,2101000)', 'hidden for a second');

\echo '-- sessions'
SELECT is(abide.renew_sessions(ARRAY['w'], 9000, 60000), 1, 'one of this owner');
SELECT is(abide.renew_sessions(ARRAY['w'], 9000, 0), 0, 'not if it is idle');
SELECT at(9000000);
SELECT is(abide.cleanup_sessions(), 3, 's, t and u');
SELECT is((SELECT count(*) FROM abide.lane), 0::bigint, 'their lanes too');
SELECT abide.forget_requests(1000);
SELECT is((SELECT count(*) FROM abide.request), 0::bigint, 'an hour has passed');

\echo '-- deleting'
SELECT is((SELECT outcome || ' ' || culprit FROM abide.delete_instances(ARRAY['nobody'], false)), 'unknown nobody', 'unknown');
SELECT is((SELECT outcome || ' ' || culprit FROM abide.delete_instances(ARRAY['a', 'kid'], false)), 'running a', 'running');
SELECT is((SELECT outcome || ' ' || culprit FROM abide.delete_instances(ARRAY['a'], true)), 'child kid', 'a child would be left');
SELECT is((SELECT (outcome, instances, executions, events)::text FROM abide.delete_instances(ARRAY['a', 'kid'], true)), '(ok,2,2,3)', 'gone');
SELECT abide.enqueue_messages(ARRAY[mail(1, 'a', 'start', 'start-a')], ARRAY[NULL]::bigint[], ARRAY[NULL]::uuid[]);
SELECT is((SELECT i.id > s.mailbox FROM abide.instance AS i JOIN seen AS s ON s.what = i.name WHERE i.name = 'a'), true, 'another incarnation');

\echo '-- a batch is bounded: 1,000 messages or 4 MiB'
SELECT is(commit(ARRAY[turn(1, 'many', authority => 'none', orchestration => 'M')], ARRAY[ROW (1, 1, 'm1')]::abide.new_event[]), 'ok', 'many');
SELECT is(commit(ARRAY[turn(1, 'large', authority => 'none', orchestration => 'M')], ARRAY[ROW (1, 1, 'm1')]::abide.new_event[]), 'ok', 'large');
SELECT abide.enqueue_messages(ARRAY(SELECT mail(n, 'many', 'other', 'm') FROM generate_series(1, 1500) AS n),
    array_fill(NULL::bigint, ARRAY[1500]), array_fill(NULL::uuid, ARRAY[1500]));
SELECT abide.enqueue_messages(ARRAY(SELECT mail(n, 'large', 'other', repeat('x', 3000000)) FROM generate_series(1, 4) AS n),
    array_fill(NULL::bigint, ARRAY[4]), array_fill(NULL::uuid, ARRAY[4]));
SELECT is((SELECT string_agg(instance || cardinality(message_ids), ',' ORDER BY instance)
           FROM abide.lease_instances(9, 1000, 'n', NULL, NULL) WHERE instance IN ('many', 'large')), 'large2,many1000', 'bounded');

\echo '-- the clock is read when the lock is held, and a fetch does not wait for a lock'
TRUNCATE abide.message, abide.mailbox, abide.instance;
SELECT set_config('abide.now', '', false);
\set connection 'host=' :HOST ' port=' :PORT ' user=' :USER ' dbname=' :DBNAME ' password=' `echo "$PGPASSWORD"`
SELECT dblink_connect('second', :'connection'), dblink_connect('third', :'connection');
SELECT abide.enqueue_messages(ARRAY[mail(1, 'clock', 'start', 'tick')], ARRAY[NULL]::bigint[], ARRAY[NULL]::uuid[]);
SELECT is(take(100, p_ms => 250), 'clock(tick|1)', 'a lease of 250 ms');
BEGIN;
SELECT FROM abide.mailbox WHERE name = 'clock' FOR UPDATE;
SELECT is(dblink_send_query('second', $$SELECT public.commit(ARRAY[public.turn(1, 'clock', orchestration => 'C')])$$),
          1, 'sent in time');
SELECT pg_sleep(0.5);
SELECT is((SELECT r FROM dblink('third', 'SELECT public.take(100)') AS x (r text)), '', 'the lease ran out, but the row is locked');
COMMIT;
SELECT is((SELECT r FROM dblink_get_result('second') AS x (r text)), 'lost', 'judged by the time after waiting');
SELECT is(take(100), 'clock(tick|2)', 'now it can be had');
SELECT dblink_disconnect('second'), dblink_disconnect('third');

\echo '-- behind 100,000 rows of every kind, a fetch looks at a few'
SELECT at(9000000);
TRUNCATE abide.message, abide.mailbox, abide.instance, abide.work, abide.lane, abide.session;
INSERT INTO abide.instance (id, name) OVERRIDING SYSTEM VALUE SELECT n, 'i' || n FROM generate_series(1, 300010) AS n;
-- A third is pinned to what nobody here can replay, a third is leased, a third sleeps; ten can be had.
INSERT INTO abide.mailbox (id, name, execution_id, last_event_id, status, pin, ready, nonce, lease_until, batch_to, due)
SELECT n, 'i' || n, 1, 1, 'Running', CASE WHEN n <= 100000 THEN '0009' ELSE '0001' END,
       CASE WHEN n <= 100000 OR n > 300000 THEN n END,
       CASE WHEN n BETWEEN 100001 AND 200000 THEN gen_random_uuid() END,
       CASE WHEN n BETWEEN 100001 AND 200000 THEN 9999999 END, CASE WHEN n BETWEEN 100001 AND 200000 THEN n END,
       CASE WHEN n BETWEEN 100001 AND 300000 THEN 9999999 END
FROM generate_series(1, 300010) AS n;
INSERT INTO abide.message (id, mailbox, class, visible_at, item)
SELECT n, n, 'other', CASE WHEN n BETWEEN 200001 AND 300000 THEN 9999999 END, 'm' || n FROM generate_series(1, 300010) AS n;
-- Work: tags that nobody here serves, work that is leased or hidden, sessions of others; ten can be had, and one session.
INSERT INTO abide.work (id, mailbox, execution_id, activity_id, tag, session, ready, due, item)
SELECT 400000 + n, 1, 1, n, CASE WHEN n <= 100000 THEN '=far' ELSE '' END,
       CASE WHEN n BETWEEN 200001 AND 300000 THEN 's' || n WHEN n > 300010 THEN 'mine' END,
       n NOT BETWEEN 100001 AND 200000, CASE WHEN n BETWEEN 100001 AND 200000 THEN 9999999 END, 'w' || n
FROM generate_series(1, 300012) AS n;
INSERT INTO abide.session SELECT DISTINCT session, CASE WHEN session <> 'mine' THEN 'foreign' END,
       CASE WHEN session <> 'mine' THEN 9999999 END, 1 FROM abide.work WHERE session IS NOT NULL;
INSERT INTO abide.lane SELECT session, tag, min(id), CASE WHEN session <> 'mine' THEN 'foreign' END,
       CASE WHEN session <> 'mine' THEN 9999999 END FROM abide.work WHERE session IS NOT NULL GROUP BY session, tag;
ANALYZE;

LOAD 'auto_explain';
SET auto_explain.log_min_duration = 0;
SET auto_explain.log_nested_statements = on;
SET auto_explain.log_analyze = on;
SET auto_explain.log_buffers = on;
SET auto_explain.log_timing = off;
SET client_min_messages = log;
SELECT * FROM abide.lease_instances(16, 1000, 'node', ARRAY['0000'], ARRAY['0002']);
SELECT * FROM abide.lease_work(16, 1000, 'node', ARRAY['', '=gpu'], 'me', 1000);
SET client_min_messages = warning;
SET auto_explain.log_min_duration = -1;
SELECT is((SELECT count(*) FROM abide.mailbox WHERE leased_by = 'node'), 10::bigint, 'ten instances');
SELECT is((SELECT count(*) FROM abide.work WHERE leased_by = 'node'), 12::bigint, 'ten, and two of the free session');
\echo '-- all as expected'
