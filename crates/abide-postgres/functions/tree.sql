-- Instances and everything below them: number, name and status, parents before children, by level, in the order of creation. Links that
-- form a ring, by damage, are not followed for ever.
CREATE FUNCTION abide.tree(p_roots text[]) RETURNS TABLE (no bigint, id text, status text, level integer) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_level integer := 0;
    v_numbers bigint[];
    v_seen bigint[] := '{}';
BEGIN
    v_numbers := ARRAY(SELECT i.no FROM abide.instance AS i WHERE i.id = ANY (p_roots) AND i.status <> ''
                       ORDER BY array_position(p_roots, i.id::text));
    WHILE cardinality(v_numbers) > 0 LOOP
        RETURN QUERY SELECT i.no, i.id, i.status, v_level FROM unnest(v_numbers) WITH ORDINALITY AS n (no, place)
                     JOIN abide.instance AS i ON i.no = n.no ORDER BY n.place;
        v_seen := v_seen || v_numbers;
        v_numbers := ARRAY(
            SELECT c.no FROM unnest(v_numbers) WITH ORDINALITY AS n (no, place)
            JOIN abide.instance AS p ON p.no = n.no
            JOIN abide.instance AS c ON c.parent = p.id AND c.status <> ''
            WHERE c.no <> ALL (v_seen) ORDER BY n.place, c.created_at, c.no);
        v_level := v_level + 1;
    END LOOP;
END $$;
