-- The next pin that has anything ready: a loose scan, one seek per pin.
-- Plan: mailbox_ready.
SELECT pin FROM mailbox WHERE ready IS NOT NULL AND pin > ?1 ORDER BY pin LIMIT 1
