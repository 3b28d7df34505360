-- All that no valid lease holds, from the indexes alone; ?1 is the time.
-- Plan: work_ready, work_in_session, work_hidden, work_leased, work_held.
SELECT (SELECT count(*) FROM work INDEXED BY work_ready
        WHERE visible_at = 0 AND lease IS NULL AND session IS NULL AND held_since IS NULL)
     + (SELECT count(*) FROM work INDEXED BY work_in_session
        WHERE visible_at = 0 AND lease IS NULL AND session IS NOT NULL AND held_since IS NULL)
     + (SELECT count(*) FROM work INDEXED BY work_hidden WHERE visible_at > 0 AND lease IS NULL)
     + (SELECT count(*) FROM work INDEXED BY work_leased WHERE lease IS NOT NULL AND leased_until <= ?1)
     + (SELECT count(*) FROM work INDEXED BY work_held WHERE held_since IS NOT NULL)
