-- How instances stand, and the last turn of those that failed: each of one moment, whatever its history is
-- like. No more than 16 MB together, unless one alone has more: the others are "later", to be asked for
-- again. What is no instance yet runs if something in the queue starts it.
SELECT s.place, s.before >= 16777216 AS later, s.status, CASE WHEN s.before < 16777216 THEN s.output END,
       s.custom_status, s.custom_status_version,
       CASE WHEN s.status = 'Failed' AND s.before < 16777216 THEN (
           SELECT t.events FROM abide.turn AS t WHERE t.mailbox = s.no AND t.execution = s.execution
           ORDER BY t.last_event DESC LIMIT 1) END
FROM (
    SELECT k.place, b.no, b.execution, CASE WHEN b.execution > 0 THEN b.status ELSE 'Running' END AS status, e.output, i.custom_status, i.custom_status_version,
           sum(coalesce(octet_length(e.output), 0)) OVER (ORDER BY k.place) - coalesce(octet_length(e.output), 0) AS before
    FROM unnest($1::text[]) WITH ORDINALITY AS k (id, place)
    JOIN abide.instance AS i ON i.id = ANY (ARRAY[k.id])
    JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
    LEFT JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[b.no]) AND e.no = b.execution
    WHERE b.execution > 0
       OR (SELECT true FROM abide.message AS m WHERE m.mailbox = b.no AND m.class IN (1, 2) LIMIT 1)
) AS s
