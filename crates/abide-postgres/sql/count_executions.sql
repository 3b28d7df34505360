-- Without those of deleted mailboxes, whose rows are still being removed.
SELECT (SELECT count(*) FROM abide.execution)
       - (SELECT count(*) FROM abide.execution AS e WHERE e.mailbox = ANY (ARRAY(SELECT t.mailbox FROM abide.tombstone AS t))),
       (SELECT coalesce(sum(length), 0)::bigint FROM abide.turn)
       - (SELECT coalesce(sum(length), 0)::bigint FROM abide.turn AS t
          WHERE t.mailbox = ANY (ARRAY(SELECT d.mailbox FROM abide.tombstone AS d)))
