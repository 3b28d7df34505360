-- Locks activities that are ready under these tags and were made by this node, and says which: up to p_limit of them, of the first 128 under
-- each tag. That node has their instances in memory, so what they bring is taken in where it arises. None of them has a number that is
-- greater by 1,024 or more than that of the first of all that could be taken, work of these sessions too (under p_session_tags; null is any):
-- so nothing is passed by more often than that, whoever made it.
CREATE FUNCTION abide.near_work(
    p_node bigint, p_tags text[], p_limit integer, p_except bigint[], p_sessions text[], p_session_tags text[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY(
        SELECT w.no FROM abide.work AS w
        WHERE w.no = ANY (ARRAY(
                SELECT early.no
                FROM (
                    SELECT ready.no, ready.maker, min(ready.no) OVER () AS first
                    FROM (SELECT DISTINCT unnest(p_tags) AS tag) AS wanted
                    CROSS JOIN LATERAL (
                        SELECT w.no, w.maker FROM abide.work AS w
                        WHERE w.tag = wanted.tag AND w.place IS NOT NULL AND w.session IS NULL AND w.no <> ALL (p_except)
                        ORDER BY w.place LIMIT 128
                    ) AS ready
                ) AS early
                WHERE early.maker = p_node
                  AND early.no < 1024 + least(early.first, (
                          SELECT min(l.head) FROM abide.lane AS l
                          WHERE l.session = ANY (p_sessions) AND (p_session_tags IS NULL OR l.tag = ANY (p_session_tags))))))
          AND w.place IS NOT NULL
        ORDER BY w.no LIMIT p_limit FOR UPDATE SKIP LOCKED);
END $$;
