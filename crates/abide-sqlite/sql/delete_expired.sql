-- Plan: message_waiting.
DELETE FROM message INDEXED BY message_waiting WHERE mailbox = ?1 AND expires_at IS NOT NULL AND expires_at <= ?2
