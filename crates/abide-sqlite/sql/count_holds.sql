-- Plan: work_held.
SELECT count(*) FROM work INDEXED BY work_held WHERE held_since IS NOT NULL
