-- Finished executions up to ?2 that ended before ?3, at most ?4, by number. For where all up to ?2 ended before: no other is
-- gone through.
SELECT no FROM execution
WHERE mailbox = ?1 AND no <= ?2 AND status <> 'Running' AND +completed_at < ?3
ORDER BY no LIMIT ?4
