-- Whether a name that is no instance yet has something in the queue that starts it, visible or not.
-- Plan: mailbox_id, message_start.
SELECT 1
FROM mailbox AS m
WHERE m.id = ?1 AND m.execution = 0
  AND EXISTS (SELECT 1 FROM message AS s INDEXED BY message_start WHERE s.mailbox = m.no AND s.class IN (1, 2))
