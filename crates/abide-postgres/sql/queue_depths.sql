-- Messages and work that no valid lease holds. Timers that are not yet due wait for nobody.
SELECT (SELECT count(*) FROM abide.message AS m WHERE m.class <> 4 OR m.visible_at IS NULL OR m.visible_at <= now.now)
       - (SELECT count(*) FROM abide.mailbox AS b
          CROSS JOIN LATERAL abide.batch(b.no, b.batch_to, b.batch_first) AS handed_out
          WHERE b.due_at IS NOT NULL AND b.leased_until > now.now),
       (SELECT count(*) FROM abide.work AS w WHERE (w.leased_until > now.now) IS NOT TRUE)
FROM (SELECT abide.now() AS now) AS now
