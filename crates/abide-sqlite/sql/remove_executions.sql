DELETE FROM execution
WHERE mailbox = ?1 AND no IN (SELECT no FROM execution WHERE mailbox = ?1 ORDER BY no LIMIT ?2)
