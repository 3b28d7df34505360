-- The same, those that ended first first. For where not all up to ?2 ended before ?3: what did not is not gone through.
-- Plan: execution_ended.
SELECT no FROM execution
WHERE mailbox = ?1 AND completed_at < ?3 AND +no <= ?2 AND status <> 'Running'
ORDER BY completed_at, no LIMIT ?4
