-- The turns of a leased execution that hold events behind $4; one row without a turn if there is none. No row if this is not the
-- instance of that name any more. The status that its mailbox has may be damaged.
SELECT t.events, b.status FROM abide.instance AS i JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[i.no])
LEFT JOIN abide.turn AS t ON t.mailbox = ANY (ARRAY[i.no]) AND t.execution = $3 AND t.last_event > $4
WHERE i.no = $1 AND i.id = $2 ORDER BY t.last_event
