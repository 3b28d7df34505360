-- Timers that are not yet due wait for nobody; ?1 is the time.
SELECT count(*) FROM message WHERE class <> 4 OR visible_at <= ?1
