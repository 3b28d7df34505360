-- Of these messages, which die with this attempt: who waits for the execution that they would have started,
-- by the row of a start (a second start of a child that has started changes nothing for its parent), and by
-- the instance whose successor it is.
SELECT m.no, m.attempts + 1 AS attempts, p.id AS parent, b.execution AS current,
       CASE m.class WHEN 1 THEN m.execution ELSE i.parent_execution END AS execution,
       CASE m.class WHEN 1 THEN m.event ELSE i.parent_event END AS event
FROM abide.message AS m
JOIN abide.mailbox AS c ON c.no = ANY (ARRAY[m.mailbox])
JOIN abide.instance AS i ON i.no = ANY (ARRAY[m.mailbox])
JOIN abide.instance AS p ON p.id = ANY (ARRAY[CASE m.class WHEN 1 THEN m.parent ELSE i.parent END])
JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[p.no])
WHERE m.no = ANY ($2) AND m.mailbox = $1 AND m.attempts >= 10 AND b.execution > 0
  AND CASE m.class WHEN 1 THEN ROW (i.parent, i.parent_execution, i.parent_event) IS DISTINCT FROM ROW (m.parent, m.execution, m.event)
                   WHEN 2 THEN c.status = 'ContinuedAsNew' ELSE false END
