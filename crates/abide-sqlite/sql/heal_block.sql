-- Another build has committed a turn: the refusals stay.
UPDATE block SET kind = NULL, retry_at = ?2, detail = '', build = '', event = NULL WHERE mailbox = ?1
