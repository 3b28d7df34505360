-- Finished executions but for the last ?3 (of all) and the current one ?2, ended before ?4. What is among the last cannot be
-- further back than so many numbers: without that, a prune would go through all that is kept.
SELECT no FROM execution
WHERE mailbox = ?1 AND no <= ?2 - ?3 AND no <> ?2 AND status <> 'Running' AND completed_at < ?4
  AND no <= (SELECT no FROM execution WHERE mailbox = ?1 ORDER BY no DESC LIMIT 1 OFFSET ?3)
ORDER BY no
