-- Finished executions but for the last ?3 (of all) and the current one ?2, ended before ?4.
SELECT no FROM execution
WHERE mailbox = ?1 AND no <> ?2 AND status <> 'Running' AND completed_at < ?4
  AND no NOT IN (SELECT no FROM execution WHERE mailbox = ?1 ORDER BY no DESC LIMIT ?3)
ORDER BY no
