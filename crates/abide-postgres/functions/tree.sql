-- Instances and everything below them: number, name and status, parents before children, by level, in the order of creation. What is below
-- a name that is no instance is found, too. Links that form a ring, by damage, are not followed for ever.
CREATE FUNCTION abide.tree(p_roots text[]) RETURNS TABLE (no bigint, id text, status text) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_seen text[] := p_roots;
    v_level text[] := p_roots;
BEGIN
    WHILE cardinality(v_level) > 0 LOOP
        RETURN QUERY SELECT i.no, i.id, i.status FROM unnest(v_level) WITH ORDINALITY AS n (id, place)
                     CROSS JOIN LATERAL (SELECT i.* FROM abide.instance AS i WHERE i.id = n.id OFFSET 0) AS i
                     WHERE length(i.status) > 0 ORDER BY n.place;
        v_level := ARRAY(
            SELECT c.id FROM unnest(v_level) WITH ORDINALITY AS n (id, place)
            CROSS JOIN LATERAL (SELECT c.* FROM abide.instance AS c WHERE c.parent = n.id AND length(c.status) > 0 OFFSET 0) AS c
            WHERE c.id NOT IN (SELECT unnest(v_seen)) ORDER BY n.place, c.created_at, c.no);
        v_seen := v_seen || v_level;
    END LOOP;
END $$;
