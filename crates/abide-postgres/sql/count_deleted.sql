-- What deleted mailboxes still have: instances, executions, events, messages.
SELECT (SELECT count(*) FROM unnest($1::bigint[]) AS d (no)
        WHERE (SELECT true FROM abide.execution AS e WHERE e.mailbox = d.no ORDER BY e.no LIMIT 1)) AS instances,
       (SELECT count(*) FROM abide.execution AS e WHERE e.mailbox = ANY ($1)) AS executions,
       (SELECT coalesce(sum(t.length), 0)::bigint FROM abide.turn AS t WHERE t.mailbox = ANY ($1)) AS events,
       (SELECT count(*) FROM abide.message AS m WHERE m.mailbox = ANY ($1) AND m.place IS NOT NULL)
       + (SELECT count(*) FROM abide.message AS m WHERE m.mailbox = ANY ($1) AND m.visible_at IS NOT NULL) AS items
