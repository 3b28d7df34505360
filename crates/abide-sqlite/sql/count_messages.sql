-- Timers that are not yet due wait for nobody; ?1 is the time. Mail of deleted mailboxes is not counted, and none that has expired.
-- Plan: message_expiry.
SELECT (SELECT count(*) FROM message WHERE class <> 4 OR visible_at <= ?1)
     - (SELECT count(*) FROM message
        WHERE mailbox IN (SELECT mailbox FROM tombstone) AND (class <> 4 OR visible_at <= ?1))
     - (SELECT count(*) FROM message AS m
        WHERE m.expires_at IS NOT NULL AND m.expires_at <= ?1 AND (SELECT b.flags & 4 FROM mailbox AS b WHERE b.no = m.mailbox))
