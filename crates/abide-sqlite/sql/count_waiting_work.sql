-- All that no valid lease holds, from the indexes alone; ?1 is the time. Work of deleted mailboxes is never leased, and not counted.
-- Plan: work_ready, work_in_session, work_hidden, work_leased, work_held.
SELECT (SELECT count(*) FROM work INDEXED BY work_ready
        WHERE visible_at = 0 AND lease IS NULL AND session IS NULL AND held_since IS NULL)
     + (SELECT count(*) FROM work INDEXED BY work_in_session
        WHERE visible_at = 0 AND lease IS NULL AND session IS NOT NULL AND held_since IS NULL)
     + (SELECT count(*) FROM work INDEXED BY work_hidden WHERE visible_at > 0 AND lease IS NULL)
     + (SELECT count(*) FROM work INDEXED BY work_leased WHERE lease IS NOT NULL AND leased_until <= ?1)
     + (SELECT count(*) FROM work INDEXED BY work_held WHERE held_since IS NOT NULL)
     - (SELECT count(*) FROM work WHERE mailbox IN (SELECT mailbox FROM tombstone))
