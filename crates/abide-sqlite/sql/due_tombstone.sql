-- Plan: tombstone_due.
SELECT mailbox FROM tombstone WHERE held_until <= ?1 ORDER BY held_until LIMIT 1
