-- What a mailbox that is not leased offers, and when that changes: two looks at an index, however much mail there is. One row; it returns
-- a table because that becomes part of the statement that asks, which is ten times faster than calling a function for each row.
CREATE FUNCTION abide.standing(p_mailbox bigint, p_is_instance boolean) RETURNS TABLE (ready bigint, due_at bigint)
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT CASE WHEN p_is_instance OR EXISTS (
                    SELECT FROM abide.message AS m
                    WHERE m.mailbox = p_mailbox AND m.class IN (1, 2) AND m.place IS NOT NULL)
                THEN (SELECT m.place FROM abide.message AS m
                      WHERE m.mailbox = p_mailbox AND m.place IS NOT NULL ORDER BY m.place LIMIT 1) END,
           (SELECT m.visible_at FROM abide.message AS m
            WHERE m.mailbox = p_mailbox AND m.visible_at IS NOT NULL ORDER BY m.visible_at LIMIT 1)
$$;
