-- A build has committed a turn: the refusals of others stay.
UPDATE block SET refused = ?3, kind = NULL, retry_at = ?2, detail = '', build = '', event = NULL WHERE mailbox = ?1
