-- Fold, third.
DELETE FROM kv_delta WHERE mailbox = ?1
