-- The last execution that may be pruned, and when it ended: behind it are those that are kept. ?2 and ?3 say where to look:
-- `Tx::last_prunable`.
SELECT no, completed_at FROM execution WHERE mailbox = ?1 AND no <= ?2 ORDER BY no DESC LIMIT 1 OFFSET ?3
