DELETE FROM execution WHERE mailbox = ?1 AND no IN (SELECT value FROM json_each(?2))
