-- The turns of one execution.
SELECT t.events FROM abide.instance AS i JOIN abide.turn AS t ON t.mailbox = ANY (ARRAY[i.no]) AND t.execution = $2
WHERE i.id = $1 ORDER BY t.last_event
