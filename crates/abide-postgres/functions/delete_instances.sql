-- Deletes instances, all or nothing. p_scope says which, and what may stand in the way:
--
--   'set'      these; without force none of them may run; no child may be left behind
--   'tree'     this one, which must be a root, with everything below it; without force none of them may run
--   'roots'    this one with everything below it, if it is a root that ended before p_before, and all is finished
--   'leaves'   these, if they are children; without force none of them may run; no child may be left behind
--   'orphans'  this one with everything below it, if it is a child that ended like p_ends, whose asking execution is over (before
--              p_before) or not there, and all is finished
--
-- outcome is 'ok'; 'unknown', 'child', 'running' or 'left behind', with the instances concerned; 'spared' if
-- it was not meant; or 'too large' if a tree that may be deleted has more than p_tree instances, or as many
-- starts of children that are not yet born: then nothing is locked or deleted, and gone is the tree, parents
-- before children.
-- p_rows and held: see abide.erase. What may be deleted is decided under the locks of all that goes: if there is more than was locked, the call is to be repeated.
CREATE FUNCTION abide.delete_instances(
    p_ids text[], p_scope text, p_force boolean, p_ends text[], p_before bigint, p_rows bigint, p_tree bigint,
    OUT outcome text, OUT culprit text, OUT child text, OUT instances bigint, OUT executions bigint, OUT events bigint,
    OUT items bigint, OUT stolen text[], OUT because text[], OUT gone text[], OUT wakes bigint[], OUT due_at bigint,
    OUT held bigint[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now bigint;
    v_names text[];
    v_doomed bigint[];
    v_locked bigint[];
    v_root abide.instance;
    v_is_tree boolean := p_scope NOT IN ('set', 'leaves');
    v_is_large boolean := false;
    v_asking bigint;    -- when the execution that asked for a child ended
BEGIN
    v_names := CASE WHEN v_is_tree THEN ARRAY(SELECT t.id FROM abide.tree(p_ids) AS t) ELSE p_ids END;
    IF v_is_tree THEN
        v_is_large := cardinality(v_names) > p_tree
                      OR (SELECT count(*) FROM (SELECT FROM abide.unborn(v_names) AS u LIMIT p_tree) AS u) >= p_tree;
    END IF;
    IF NOT v_is_large THEN
        v_locked := abide.lock_mailboxes(ARRAY(SELECT u.mailbox FROM abide.unborn(v_names) AS u), '{}', v_names);
        v_now := abide.now();
        v_names := CASE WHEN v_is_tree THEN ARRAY(SELECT t.id FROM abide.tree(p_ids) AS t) ELSE p_ids END;
        v_doomed := ARRAY(SELECT i.no FROM abide.instance AS i
                          WHERE i.id = ANY (v_names) AND (length(i.status) > 0 OR (p_scope = 'set' AND p_force))
                            AND (p_scope <> 'leaves' OR i.parent IS NOT NULL));
        IF EXISTS (SELECT unnest(v_doomed) UNION ALL SELECT u.mailbox FROM abide.unborn(v_names) AS u
                   EXCEPT SELECT unnest(v_locked)) THEN
            RAISE EXCEPTION 'a tree grew while it was to be deleted' USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;

    IF v_is_tree THEN
        SELECT * INTO v_root FROM abide.instance AS i WHERE i.id = p_ids[1] AND length(i.status) > 0;
        IF v_root IS NULL OR v_root.no IS NULL THEN
            outcome := 'unknown';
            RETURN;
        END IF;
    END IF;
    IF p_scope = 'tree' AND v_root.parent IS NOT NULL THEN
        outcome := 'child';
        RETURN;
    ELSIF p_scope = 'roots' AND (v_root.parent IS NOT NULL OR (p_before IS NOT NULL AND (v_root.completed_at < p_before) IS NOT TRUE))
    THEN
        outcome := 'spared';
        RETURN;
    ELSIF p_scope = 'orphans' THEN
        SELECT coalesce(e.completed_at, -1) INTO v_asking
        FROM abide.instance AS p JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[p.no]) AND e.no = coalesce(v_root.parent_execution, 1)
        WHERE p.id = v_root.parent;
        v_asking := coalesce(v_asking, v_root.completed_at, -1);
        IF v_root.parent IS NULL OR v_root.status <> ALL (p_ends) OR v_asking < 0 OR (p_before IS NOT NULL AND v_asking >= p_before) THEN
            outcome := 'spared';
            RETURN;
        END IF;
    END IF;

    IF NOT p_force THEN
        SELECT i.id INTO culprit FROM unnest(v_names) WITH ORDINALITY AS n (id, place)
        JOIN abide.instance AS i ON i.id = ANY (ARRAY[n.id])
        WHERE length(i.status) > 0 AND NOT abide.is_finished(i.no, i.status) ORDER BY n.place LIMIT 1;
        IF culprit IS NOT NULL THEN
            outcome := CASE WHEN p_scope IN ('roots', 'orphans') THEN 'spared' ELSE 'running' END;
            RETURN;
        END IF;
    END IF;
    IF v_is_large THEN
        outcome := 'too large';
        gone := v_names;
        RETURN;
    END IF;
    SELECT n.id, c.id INTO culprit, child
    FROM unnest(v_names) WITH ORDINALITY AS n (id, place)
    JOIN abide.instance AS i ON i.id = ANY (ARRAY[n.id]) AND length(i.status) > 0
    JOIN abide.instance AS c ON c.parent = ANY (ARRAY[n.id]) AND length(c.status) > 0
    WHERE c.id NOT IN (SELECT unnest(v_names)) ORDER BY n.place, c.created_at, c.no LIMIT 1;
    IF culprit IS NOT NULL THEN
        outcome := 'left behind';
        RETURN;
    END IF;

    outcome := 'ok';
    gone := ARRAY(SELECT i.id FROM abide.instance AS i WHERE i.no = ANY (v_doomed));
    SELECT e.instances, e.executions, e.events, e.items, e.stolen, e.because, e.wakes, e.due_at, e.held
    INTO instances, executions, events, items, stolen, because, wakes, due_at, held
    FROM abide.erase(v_doomed, CASE WHEN p_scope = 'set' AND p_force THEN v_names ELSE gone END, v_now, p_rows) AS e;
END $$;
