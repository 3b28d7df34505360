-- The routes of what version 1 has stored, and who waits for its starts. It comes behind the functions, which it uses.

-- A part of an item; null if the item cannot be read. Characters are spelt as in src/text.rs.
CREATE FUNCTION abide.part_of(p_item text, p_path text[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN replace(p_item::json #>> p_path, E'\x01', E'\x01' || '1');
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

UPDATE abide.message AS m
SET code = abide.route_no(
    coalesce(abide.part_of(m.item, '{StartOrchestration,orchestration}'), abide.part_of(m.item, '{ContinueAsNew,orchestration}')),
    coalesce(abide.part_of(m.item, '{StartOrchestration,version}'), abide.part_of(m.item, '{ContinueAsNew,version}'), 'unknown'), '', '')
WHERE m.class IN (1, 2);
-- Starts of children tell who waits: beside the parent, the execution and the event that asked, in the columns that timers
-- use. So the parent can be told even if the item cannot be read. That of one that cannot be read now is not told.
UPDATE abide.message AS m SET execution = p.execution::bigint, event = p.event::bigint
FROM (SELECT m.no, abide.part_of(m.item, '{StartOrchestration,parent_execution_id}') AS execution,
             abide.part_of(m.item, '{StartOrchestration,parent_id}') AS event
      FROM abide.message AS m WHERE m.class = 1 AND m.parent IS NOT NULL) AS p
WHERE p.no = m.no AND p.event ~ '^[0-9]{1,18}$' AND coalesce(p.execution, '0') ~ '^[0-9]{1,18}$';
UPDATE abide.mailbox AS b SET flags = 2 WHERE b.no = ANY (ARRAY(SELECT m.mailbox FROM abide.message AS m WHERE m.class = 5));
-- Mail that waits for a start does so for an hour from now on.
SELECT abide.await_start(ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.execution = 0), abide.now());
SELECT abide.settle(ARRAY(SELECT b.no FROM abide.mailbox AS b WHERE b.ready IS NOT NULL ORDER BY b.no FOR UPDATE), NULL, abide.now());

UPDATE abide.work AS w
SET is_unreadable = r.name IS NULL, route = abide.route_after(abide.work_route_of(r.name, w.tag), w.attempts, r.name IS NULL)
FROM (SELECT w.no, abide.part_of(w.item, '{ActivityExecute,name}') AS name FROM abide.work AS w) AS r WHERE r.no = w.no;
INSERT INTO abide.lane (session, route) SELECT DISTINCT w.session, w.route FROM abide.work AS w WHERE w.session IS NOT NULL;
SELECT abide.settle_lanes(ARRAY(SELECT s.name FROM abide.session AS s ORDER BY s.name FOR UPDATE), NULL, abide.now());

DROP FUNCTION abide.part_of(text, text[]);
