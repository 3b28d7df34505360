-- Plan: session_held.
SELECT name FROM session WHERE held = 1 AND locked_until <= ?1 ORDER BY locked_until LIMIT ?2
