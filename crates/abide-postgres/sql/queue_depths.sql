-- Messages and work that no valid lease holds. Timers that are not yet due wait for nobody: what sleeps costs an entry of an index each.
SELECT (SELECT count(*) FROM abide.message AS m JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[m.mailbox])
        WHERE m.place IS NOT NULL
          AND (b.leased_until > now.now AND (m.place <= b.batch_to OR m.place IN (b.batch_first, b.batch_cancel))) IS NOT TRUE)
       + (SELECT count(*) FROM abide.message AS m WHERE m.visible_at IS NOT NULL AND (m.class <> 4 OR m.visible_at <= now.now))
       -- Those of deleted mailboxes are still being removed.
       - (SELECT count(*) FROM abide.message AS m WHERE m.visible_at IS NOT NULL AND (m.class <> 4 OR m.visible_at <= now.now)
            AND m.mailbox = ANY (ARRAY(SELECT t.mailbox FROM abide.tombstone AS t)))
       -- So is what has waited for a start for too long.
       - (SELECT count(*) FROM abide.message AS m JOIN abide.mailbox AS b ON b.no = ANY (ARRAY[m.mailbox])
          WHERE m.expires_at <= now.now AND b.flags & 4 = 4),
       (SELECT count(*) FROM abide.work AS w WHERE (w.leased_until > now.now) IS NOT TRUE)
FROM (SELECT abide.now() AS now) AS now
