-- The same from the index alone: how far a call that takes several routes gets in each.
-- Plan: mailbox_ready.
SELECT ready FROM mailbox WHERE route = ?1 AND ready IS NOT NULL ORDER BY ready LIMIT ?2
