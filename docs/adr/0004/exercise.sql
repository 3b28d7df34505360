-- Exercises every function of postgresql.sql at least once. Anything unexpected stops it.
--
--   cd docs/adr/0004
--   pg_virtualenv psql -X -v ON_ERROR_STOP=1 -f postgresql.sql -f exercise.sql
--
-- With -v plans=1 it prints the plans of the two fetches, made behind 300,000 rows, as the server executed them.
-- pg_virtualenv (Debian's postgresql-common) starts a server, runs psql against it and removes it again; it works as
-- root. Anywhere else: an empty database, and the two files by psql as a superuser (for dblink and auto_explain).
-- Time is abide.now, so nothing sleeps, but for the part about the clock, which takes half a second.

\set QUIET 1
\pset pager off
\o /dev/null
SET client_min_messages = warning;
SET default_transaction_isolation = 'read committed';
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET jit = off;
CREATE EXTENSION dblink;

------------------------------------------------------------------------------------------------ words for what follows

CREATE FUNCTION public.at(p_now bigint) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('abide.now', p_now::text, false)
$$;

CREATE FUNCTION public.is(p_found text, p_expected text, p_what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF p_found IS DISTINCT FROM p_expected THEN
        RAISE EXCEPTION '%: found %, expected %', p_what, p_found, p_expected;
    END IF;
END $$;

-- Tokens, by a name: the instance, or the item of the work.
CREATE TABLE public.seen (what text PRIMARY KEY, mailbox bigint, work bigint, nonce uuid);

CREATE FUNCTION public.token(p_what text) RETURNS public.seen LANGUAGE sql AS $$
    SELECT s FROM public.seen AS s WHERE s.what = p_what
$$;

-- Sends a message, and says what became of it.
CREATE FUNCTION public.send(p_to text, p_class text, p_item text, p_delay bigint DEFAULT NULL, p_key integer DEFAULT NULL)
RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', outcomes[1], CASE WHEN wakes THEN 'wakes' END)
    FROM abide.enqueue_messages(ARRAY[ROW (1, p_to, p_class, NULL, NULL, NULL, p_item)::abide.mail], ARRAY[p_delay],
                                ARRAY[lpad(p_key::text, 32, '0')::uuid])
$$;

-- Leases instances, and says what came: 'a(start-a,cancel-a|1,1)' are the items and attempts of an instance.
CREATE FUNCTION public.take(p_limit integer, p_from text DEFAULT NULL, p_to text DEFAULT NULL, p_ms bigint DEFAULT 1000)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_lease record;
    v_all text := '';
BEGIN
    FOR v_lease IN SELECT * FROM abide.lease_instances(p_limit, p_ms, 'node-1', string_to_array(p_from, ','),
                                                       string_to_array(p_to, ',')) LOOP
        INSERT INTO public.seen VALUES (v_lease.instance, v_lease.mailbox, NULL, v_lease.nonce)
        ON CONFLICT (what) DO UPDATE SET mailbox = excluded.mailbox, nonce = excluded.nonce;
        v_all := v_all || ' ' || v_lease.instance || '(' || array_to_string(v_lease.message_items, ',') || '|'
                       || array_to_string(v_lease.message_attempts, ',') || ')';
    END LOOP;
    RETURN trim(v_all);
END $$;

-- Leases work, and says what came: 'plain|1' is an item and its attempt.
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

-- A turn with little in it; the rest is given by name.
CREATE FUNCTION public.turn(
    p_turn integer, p_instance text, p_execution bigint DEFAULT 1, authority text DEFAULT 'lease',
    by_work text DEFAULT NULL, expected_event bigint DEFAULT NULL, consumes_all boolean DEFAULT true,
    orchestration text DEFAULT NULL, parent text DEFAULT NULL, pin_key text DEFAULT NULL, status text DEFAULT NULL,
    output text DEFAULT NULL, custom_status text DEFAULT NULL, kv_clear boolean DEFAULT false,
    prune boolean DEFAULT false, keep_last integer DEFAULT NULL
) RETURNS abide.turn LANGUAGE sql AS $$
    SELECT ROW (p_turn, p_instance, authority, (public.token(coalesce(by_work, p_instance))).mailbox,
        (public.token(coalesce(by_work, p_instance))).nonce, (public.token(by_work)).work, p_execution, expected_event,
        p_execution, consumes_all, true, orchestration, '1.0.0', parent, NULL, NULL, pin_key, pin_key, status, output,
        custom_status IS NOT NULL, custom_status, kv_clear, coalesce(status <> 'Running', false),
        coalesce(status <> 'Running', false), prune, keep_last, NULL)::abide.turn
$$;

-- Commits, and says the outcomes and the news in one line.
CREATE FUNCTION public.commit(
    turns abide.turn[], events abide.new_event[] DEFAULT '{}', kv abide.kv_change[] DEFAULT '{}',
    work abide.new_work[] DEFAULT '{}', revoked abide.revoked[] DEFAULT '{}', mail abide.mail[] DEFAULT '{}',
    timers abide.numbered[] DEFAULT '{}', consumed abide.numbered[] DEFAULT '{}'
) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', array_to_string(outcomes, ','), CASE WHEN wakes THEN 'wakes' END,
                     nullif('tags=' || tags::text, 'tags={}'), 'due=' || due, nullif(array_to_string(because, ','), ''),
                     nullif('pruned=' || pruned_executions, 'pruned=0'))
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

CREATE FUNCTION public.mail_of(p_name text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(m.item, ',' ORDER BY m.id)
    FROM abide.message AS m JOIN abide.instance AS i ON i.id = m.mailbox WHERE i.name = p_name
$$;

CREATE FUNCTION public.kv_of(p_name text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(key || '=' || value, ',' ORDER BY key) FROM abide.kv_live(p_name)
$$;

\echo '-- enqueueing'
SELECT at(1000);
SELECT is(send('a', 'other', 'cancel-a'), 'ok', 'mail for nobody waits');
SELECT is(send('a', 'start', 'start-a', p_key => 2), 'ok wakes', 'a start');
SELECT is(send('a', 'start', 'start-a', p_key => 2), 'repeated', 'the same request');
SELECT is(send('b', 'queue', 'lost'), 'ok', 'a queue message for nobody');
SELECT is(mail_of('a'), 'cancel-a,start-a', 'once each');
SELECT is((SELECT string_agg(name, ',') FROM abide.mailbox), 'a', 'a dropped message makes no mailbox');
SELECT is(send('late', 'start', 'start-late', p_delay => 500), 'ok', 'delayed');
SELECT is(abide.next_due_instances(NULL, NULL)::text, '0', 'something is ready now');

\echo '-- leasing instances'
SELECT is(take(0), '', 'none wanted');
SELECT is(take(10, '', ''), '', 'no range takes nothing');
SELECT is(take(10), 'a(start-a,cancel-a|1,1)', 'what starts comes first');
SELECT is(take(10), '', 'leased');
SELECT is(abide.next_due_instances(NULL, NULL)::text, '1500', 'the delayed message is next');
SELECT at(1500);
SELECT is(take(10), 'late(start-late|1)', 'a delayed message shows');
SELECT is(abide.next_due_instances(NULL, NULL)::text, '2000', 'then the end of a lease');

\echo '-- the fence'
UPDATE seen SET nonce = gen_random_uuid() WHERE what = 'a';
SELECT is(commit(ARRAY[turn(1, 'a', orchestration => 'A')], ARRAY[(1, 1, 'e1')::abide.new_event],
    mail => ARRAY[(1, 'child', 'start', NULL, NULL, NULL, 'x')::abide.mail]), 'lost', 'another nonce');
UPDATE seen SET nonce = b.nonce FROM abide.mailbox AS b WHERE what = 'a' AND b.name = 'a';
SELECT at(2000);
SELECT is(commit(ARRAY[turn(1, 'a', orchestration => 'A')], ARRAY[(1, 1, 'e1')::abide.new_event]), 'lost',
    'a lease that ran out');
SELECT is(concat((SELECT count(*) FROM abide.history), (SELECT count(*) FROM abide.instance WHERE name = 'child')), '00',
    'a stale holder writes nothing');
SELECT is(take(1), 'a(start-a,cancel-a|2,2)', 'the attempt counted');

\echo '-- committing a turn'
SELECT is(commit(
    ARRAY[turn(1, 'a', orchestration => 'A', pin_key => '0002', custom_status => 'busy', status => 'Running',
               consumes_all => false)],
    ARRAY[(1, 1, 'e1'), (1, 2, 'e2'), (1, 3, 'e3')]::abide.new_event[],
    ARRAY[(1, 'k', 'v', 7)]::abide.kv_change[],
    ARRAY[(1, 'a', 1, 2, NULL, '', 'plain'), (1, 'a', 1, 3, NULL, '=gpu', 'gpu'), (1, 'a', 1, 4, 's', '', 'in-s'),
          (1, 'a', 1, 5, 's', '=gpu', 'gpu-in-s'), (1, 'a', 1, 6, 't', '', 'in-t')]::abide.new_work[],
    mail => ARRAY[(1, 'a', 'timer', 5000, 1, 7, 'timer-7'), (1, 'a', 'timer', 4000, 1, 8, 'timer-8'),
                  (1, 'kid', 'start', NULL, NULL, NULL, 'start-kid')]::abide.mail[],
    consumed => ARRAY[(1, (SELECT id FROM abide.message WHERE item = 'start-a'))]::abide.numbered[]),
    'ok wakes tags={"",=gpu} due=4000', 'everything at once');
SELECT is(mail_of('a'), 'cancel-a,timer-7,timer-8', 'what was not consumed stays');
SELECT is((SELECT (execution_id, last_event_id, status, pin, nonce IS NULL, ready IS NOT NULL)::text
           FROM abide.mailbox WHERE name = 'a'), '(1,3,Running,0002,t,t)', 'the position');
SELECT is((SELECT (orchestration, version, custom_status, custom_status_version)::text
           FROM abide.instance WHERE name = 'a'), '(A,1.0.0,busy,1)', 'the instance');
SELECT is(kv_of('a'), 'k=v', 'the delta is seen');
SELECT is((SELECT count(*)::text FROM abide.kv), '0', 'and not stored yet');
SELECT is((SELECT h::text FROM abide.history_after((token('a')).mailbox, 1, 2) AS h), '{e1,e2,e3}',
    'the piece that holds what is behind event 2');
SELECT is((SELECT (events, bytes, keys, value_bytes)::text FROM abide.instance_stats('a')), '(3,6,1,1)', 'the size');

\echo '-- capabilities'
SELECT at(2100);
SELECT is(take(10, '0003', '0009'), 'kid(start-kid|1)', 'a pin outside the range is passed over');
SELECT is(take(10, '0001', '0002'), 'a(cancel-a|2)', 'inside it is taken; what was left keeps its attempts');
SELECT is(commit(ARRAY[turn(1, 'a')], ARRAY[(1, 3, 'again')]::abide.new_event[]), 'conflict', 'event 3 is there already');
SELECT is(commit(ARRAY[turn(1, 'a')]), 'ok due=4000', 'an empty commit only consumes');

\echo '-- leasing work'
SELECT is(take_work(5, '{}'), '', 'no tag');
SELECT is(take_work(5, '{""}'), 'plain|1', 'without a tag and without a session');
SELECT is(take_work(5, '{=gpu}', 'w1'), 'gpu|1 gpu-in-s|1', 'a tag, and the session is claimed');
SELECT is(take_work(5, NULL, 'w2'), 'in-t|1', 'the other session is free');
SELECT is(take_work(5, NULL, 'w1'), 'in-s|1', 'the owner takes more of it');
SELECT is(abide.next_due_work(NULL, 'w1')::text, '3100', 'then the end of a lease');

\echo '-- renewing and giving back'
SELECT at(2200);
SELECT is((abide.renew_work(ARRAY[(token('plain')).work, (token('gpu')).work],
    ARRAY[(token('plain')).nonce, gen_random_uuid()], 2000))::text, '{ok,lost}', 'one of two');
SELECT is((abide.abandon_work(ARRAY[(token('gpu')).work], ARRAY[(token('gpu')).nonce], '{100}', '{true}'))::text,
    '({ok},{})', 'given back with a delay');
SELECT is(take_work(5, '{=gpu}'), '', 'hidden');
SELECT at(2300);
SELECT is(take_work(5, '{=gpu}'), 'gpu|1', 'the attempt did not count');
SELECT is((abide.renew_instances(ARRAY[(token('kid')).mailbox], ARRAY[(token('kid')).nonce], 3000))::text, '{ok}', 'renewed');
SELECT is((abide.abandon_instances(ARRAY[(token('kid')).mailbox], ARRAY[(token('kid')).nonce], '{NULL}', '{false}'))::text,
    '({ok},t,)', 'given back: a wake-up');
SELECT is((abide.renew_instances(ARRAY[(token('kid')).mailbox], ARRAY[(token('kid')).nonce], 3000))::text, '{lost}', 'gone');
SELECT is(take(1, p_ms => 100000), 'kid(start-kid|2)', 'leased a second time');
SELECT is(commit(ARRAY[turn(1, 'kid', orchestration => 'Kid', parent => 'a')], ARRAY[(1, 1, 'k1')]::abide.new_event[]),
    'ok', 'a child');

\echo '-- finishing work'
SELECT is(finish('plain', 'plain'), 'ok,lost wakes', 'once');
SELECT is((abide.finish_work(ARRAY[(token('in-t')).work], ARRAY[(token('in-t')).mailbox], ARRAY[(token('in-t')).nonce],
    '{kid}', '{x}'))::text, '({invalid},t,4000)', 'a completion for another instance');
SELECT is(take(1, p_ms => 100000), 'a(done:plain|1)', 'the instance hears of it');

\echo '-- a fused step'
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'gpu', expected_event => 3)]), 'busy', 'leased');
SELECT is(commit(ARRAY[turn(1, 'a')], ARRAY[(1, 4, 'e4')]::abide.new_event[]), 'ok due=4000', 'the plain way');
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'gpu', expected_event => 3)]), 'busy due=4000',
    'moved on');
SELECT is(send('a', 'other', 'event'), 'ok wakes', 'mail');
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'gpu', expected_event => 4)]), 'busy wakes due=4000',
    'mail waits');
SELECT is(take(1), 'a(event|1)', 'so it is read first');
SELECT is(commit(ARRAY[turn(1, 'a')]), 'ok due=4000', 'consumed');
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'plain', expected_event => 4)]), 'lost due=4000',
    'work that is gone');
SELECT is(commit(ARRAY[turn(1, 'a', authority => 'work', by_work => 'in-s', expected_event => 4)],
    ARRAY[(1, 5, 'e5')]::abide.new_event[], work => ARRAY[(1, 'a', 1, 9, 's', '', 'in-s-2')]::abide.new_work[]),
    'ok tags={""} due=4000', 'one call for a step');
SELECT is((SELECT last_activity::text FROM abide.session WHERE name = 's'), '2300', 'its session was active');
SELECT is(take_work(5, '{""}', 'w2'), '', 'the session is still another''s');
SELECT is(take_work(5, '{""}', 'w1'), 'in-s-2|1', 'and its owner takes from it');

\echo '-- several commits in one call, and what they take away'
SELECT is(send('a', 'other', 'x') || send('kid', 'other', 'y'), 'ok wakesok wakes', 'mail for two');
SELECT is(take(5), 'a(x|1) kid(y|1)', 'two leases in one call');
SELECT is(commit(
    ARRAY[turn(1, 'a'), turn(2, 'nobody'), turn(3, 'kid', status => 'Completed', output => '"done"'), turn(4, 'kid')],
    ARRAY[(1, 6, 'e6'), (2, 1, 'no'), (3, 2, 'k2'), (4, 3, 'no')]::abide.new_event[],
    revoked => ARRAY[(1, 'a', 1, 5, 'dropped'), (1, 'a', 1, 6, 'Failed'), (1, 'a', 1, 99, 'dropped')]::abide.revoked[],
    mail => ARRAY[(3, 'a', 'other', NULL, NULL, NULL, 'kid-done')]::abide.mail[],
    timers => ARRAY[(1, 8)]::abide.numbered[]),
    'ok,lost,ok,again wakes due=5000 dropped,Failed', 'each for itself');
SELECT is((abide.renew_work(ARRAY[(token('in-t')).work], ARRAY[(token('in-t')).nonce], 1000))::text, '{lost}',
    'a holder that was not told finds out');
SELECT abide.tell(true, '{""}', '{1.2.x,3.2.y}', '{dropped,Failed}');

\echo '-- continue as new: fold, prune, timers'
SELECT is(take(1), 'a(kid-done|1)', 'the parent hears of its child');
SELECT is(commit(ARRAY[turn(1, 'a', status => 'ContinuedAsNew', output => 'next')],
    ARRAY[(1, 7, 'e7')]::abide.new_event[], ARRAY[(1, 'gone', NULL, NULL)]::abide.kv_change[],
    mail => ARRAY[(1, 'a', 'other', NULL, NULL, NULL, 'early'), (1, 'a', 'continue', NULL, NULL, NULL, 'go-on')]::abide.mail[]),
    'ok wakes', 'ended: its timers are gone');
SELECT is((SELECT string_agg(key || '=' || value, ',') FROM abide.kv), 'k=v', 'folded');
SELECT is(take(1), 'a(go-on,early|1,1)', 'the successor''s start comes first');
SELECT is(commit(ARRAY[turn(1, 'a', 2, orchestration => 'A', kv_clear => true, prune => true, keep_last => 2)],
    ARRAY[(1, 1, 'f1')]::abide.new_event[], ARRAY[(1, 'm', 'n', 9)]::abide.kv_change[]), 'ok', 'two may stay');
SELECT is(kv_of('a'), 'm=n', 'cleared, then set');
SELECT is(send('a', 'other', 'z'), 'ok wakes', 'mail');
SELECT is(take(1), 'a(z|1)', 'once more');
SELECT is(commit(ARRAY[turn(1, 'a', 2, prune => true)]), 'ok deleted,deleted pruned=1',
    'the old execution goes, and the leases on its work');
SELECT is((SELECT sum(count)::text FROM abide.history), '3', 'one event of a and two of its child are left');
SELECT is((SELECT (outcome, executions)::text FROM abide.prune_executions('a', 1, NULL)), '(ok,0)', 'nothing to prune');
SELECT is((SELECT outcome FROM abide.prune_executions('nobody', 1, NULL)), 'unknown', 'nobody to prune');

\echo '-- seeding, and work without a turn'
SELECT is(commit(ARRAY[turn(1, 'seeded', authority => 'none', orchestration => 'S')],
    ARRAY[(1, 1, 's1')]::abide.new_event[]), 'ok', 'a past');
SELECT is((abide.enqueue_work(ARRAY[(1, 'seeded', 1, 1, 'u', '', 'broken')]::abide.new_work[]))::text, '{""}', 'work');

\echo '-- rows that cannot be read'
DO $$
BEGIN
    FOR n IN 1..11 LOOP
        PERFORM at(1000000 + 100000 * n);
        PERFORM is(take_work(1, NULL, 'w'), 'broken|' || n, 'leased');
        PERFORM is((SELECT abide.set_aside_work(s.work, s.mailbox, s.nonce, 'poison') FROM token('broken') AS s),
                   CASE WHEN n = 11 THEN 'dead' ELSE 'ok' END, 'attempt ' || n);
    END LOOP;
END $$;
SELECT is(take(9), 'late(start-late|2) seeded(poison|1)', 'its instance is told');
SELECT is((SELECT abide.set_aside_messages(s.mailbox, s.nonce, ARRAY(SELECT id FROM abide.message WHERE item = 'poison'))
           FROM token('seeded') AS s), 'empty', 'nothing left: the lease is gone');
SELECT is((SELECT (attempts, visible_at)::text FROM abide.message WHERE item = 'poison'), '(1,2101000)', 'hidden for a second');

\echo '-- sessions'
SELECT is(abide.renew_sessions('{w}', 9000, 60000)::text, '1', 'one of this owner');
SELECT is(abide.renew_sessions('{w}', 9000, 0)::text, '0', 'not if it is idle');
SELECT at(9000000);
SELECT is(abide.cleanup_sessions()::text, '3', 's, t and u');
SELECT is((SELECT count(*)::text FROM abide.lane), '0', 'their lanes too');
SELECT abide.forget_requests(1000);
SELECT is((SELECT count(*)::text FROM abide.request), '0', 'an hour has passed');

\echo '-- deleting'
SELECT is((SELECT outcome || ' ' || culprit FROM abide.delete_instances('{nobody}', false)), 'unknown nobody', 'unknown');
SELECT is((SELECT outcome || ' ' || culprit FROM abide.delete_instances('{a,kid}', false)), 'running a', 'running');
SELECT is((SELECT outcome || ' ' || culprit FROM abide.delete_instances('{a}', true)), 'child kid', 'a child would be left');
SELECT is((SELECT (outcome, instances, executions, events)::text FROM abide.delete_instances('{a,kid}', true)),
    '(ok,2,2,3)', 'gone');
SELECT is(send('a', 'start', 'start-a'), 'ok wakes', 'the same name');
SELECT is((SELECT (id > (token('a')).mailbox)::text FROM abide.instance WHERE name = 'a'), 'true', 'another incarnation');

\echo '-- a batch is bounded: 1,000 messages or 4 MiB'
SELECT is(commit(ARRAY[turn(1, 'many', authority => 'none', orchestration => 'M'),
                       turn(2, 'large', authority => 'none', orchestration => 'M')],
    ARRAY[(1, 1, 'm1'), (2, 1, 'm1')]::abide.new_event[]), 'ok,ok', 'two instances');
SELECT abide.enqueue_messages(
    ARRAY(SELECT (n, 'many', 'other', NULL, NULL, NULL, 'm')::abide.mail FROM generate_series(1, 1500) AS n) ||
    ARRAY(SELECT (n, 'large', 'other', NULL, NULL, NULL, repeat('x', 3000000))::abide.mail
          FROM generate_series(1501, 1504) AS n),
    array_fill(NULL::bigint, ARRAY[1504]), array_fill(NULL::uuid, ARRAY[1504]));
SELECT is((SELECT string_agg(instance || cardinality(message_ids), ',' ORDER BY instance)
           FROM abide.lease_instances(9, 1000, 'n', NULL, NULL) WHERE instance IN ('many', 'large')),
    'large2,many1000', 'bounded');

\echo '-- the clock is read when the lock is held, and a fetch does not wait for a lock'
TRUNCATE abide.message, abide.mailbox, abide.instance;
SELECT set_config('abide.now', '', false);
\set connection 'host=' :HOST ' port=' :PORT ' user=' :USER ' dbname=' :DBNAME ' password=' `echo "$PGPASSWORD"`
SELECT dblink_connect('second', :'connection'), dblink_connect('third', :'connection');
SELECT is(send('clock', 'start', 'tick'), 'ok wakes', 'by the server''s clock');
SELECT is(take(100, p_ms => 250), 'clock(tick|1)', 'a lease of 250 ms');
BEGIN;
SELECT FROM abide.mailbox WHERE name = 'clock' FOR UPDATE;
SELECT dblink_send_query('second', $$SELECT public.commit(ARRAY[public.turn(1, 'clock', orchestration => 'C')])$$);
SELECT pg_sleep(0.5);
SELECT is((SELECT r FROM dblink('third', 'SELECT public.take(100)') AS x (r text)), '',
    'the lease ran out, but the row is locked');
COMMIT;
SELECT is((SELECT r FROM dblink_get_result('second') AS x (r text)), 'lost', 'sent in time, judged after waiting');
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
SELECT n, n, 'other', CASE WHEN n BETWEEN 200001 AND 300000 THEN 9999999 END, 'm' || n
FROM generate_series(1, 300010) AS n;
-- A third is for a tag that nobody here serves, a third is leased or hidden, a third belongs to sessions of others; ten
-- can be had, and two of a free session.
INSERT INTO abide.work (id, mailbox, execution_id, activity_id, tag, session, ready, due, item)
SELECT 400000 + n, 1, 1, n, CASE WHEN n <= 100000 THEN '=far' ELSE '' END,
       CASE WHEN n BETWEEN 200001 AND 300000 THEN 's' || n WHEN n > 300010 THEN 'mine' END,
       n NOT BETWEEN 100001 AND 200000, CASE WHEN n BETWEEN 100001 AND 200000 THEN 9999999 END, 'w' || n
FROM generate_series(1, 300012) AS n;
INSERT INTO abide.session
SELECT DISTINCT session, CASE WHEN session <> 'mine' THEN 'foreign' END,
       CASE WHEN session <> 'mine' THEN 9999999 END, 1 FROM abide.work WHERE session IS NOT NULL;
INSERT INTO abide.lane
SELECT session, tag, min(id), CASE WHEN session <> 'mine' THEN 'foreign' END,
       CASE WHEN session <> 'mine' THEN 9999999 END FROM abide.work WHERE session IS NOT NULL GROUP BY session, tag;
ANALYZE;

-- Counted by the server: table scans, and rows that each call looked at.
CREATE TABLE public.looked (what text, scans bigint, rows bigint);
\if :{?plans}
    LOAD 'auto_explain';
    SET auto_explain.log_min_duration = 0;
    SET auto_explain.log_nested_statements = on;
    SET auto_explain.log_analyze = on;
    SET auto_explain.log_timing = off;
    SET client_min_messages = log;
\endif
BEGIN;
SELECT * FROM abide.lease_instances(16, 1000, 'node', '{0000}', '{0002}');
INSERT INTO looked SELECT 'instances', sum(seq_scan), sum(seq_tup_read + idx_tup_fetch)
    FROM pg_stat_xact_user_tables WHERE schemaname = 'abide';
COMMIT;
BEGIN;
SELECT * FROM abide.lease_work(16, 1000, 'node', '{"",=gpu}', 'me', 1000);
INSERT INTO looked SELECT 'work', sum(seq_scan), sum(seq_tup_read + idx_tup_fetch)
    FROM pg_stat_xact_user_tables WHERE schemaname = 'abide';
COMMIT;
\if :{?plans}
    SET client_min_messages = warning;
    SET auto_explain.log_min_duration = -1;
\endif
SELECT is((SELECT count(*)::text FROM abide.mailbox WHERE leased_by = 'node'), '10', 'ten instances');
SELECT is((SELECT count(*)::text FROM abide.work WHERE leased_by = 'node'), '12', 'ten, and two of the free session');
SELECT is((SELECT sum(scans)::text FROM looked), '0', 'no table is scanned');
SELECT is((SELECT string_agg(what, ',') FROM looked WHERE rows > 150), NULL, 'only few rows are looked at');
\o
SELECT what, rows AS "rows looked at" FROM looked ORDER BY what;
\echo '-- all as expected'
