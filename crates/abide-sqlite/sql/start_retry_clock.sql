-- The clock starts with the first mail that becomes visible, and stays.
UPDATE block SET retry_at = ?2 + retry_after WHERE mailbox = ?1 AND retry_at IS NULL AND retry_after IS NOT NULL
