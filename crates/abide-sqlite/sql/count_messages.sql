-- Timers that are not yet due wait for nobody; ?1 is the time. Mail of deleted mailboxes is not counted.
SELECT (SELECT count(*) FROM message WHERE class <> 4 OR visible_at <= ?1)
     - (SELECT count(*) FROM message
        WHERE mailbox IN (SELECT mailbox FROM tombstone) AND (class <> 4 OR visible_at <= ?1))
