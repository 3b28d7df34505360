-- The turns of the current execution.
SELECT t.events FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
JOIN abide.turn AS t ON t.mailbox = ANY (ARRAY[b.no]) AND t.execution = b.execution
WHERE i.id = $1 ORDER BY t.last_event
