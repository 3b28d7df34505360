-- What a lease handed out had crashes before, and reached an end now; ?2 is a JSON array of numbers.
UPDATE message SET attempts = 0
WHERE mailbox = ?1 AND visible_at = 0 AND no IN (SELECT value FROM json_each(?2)) AND attempts > 0
