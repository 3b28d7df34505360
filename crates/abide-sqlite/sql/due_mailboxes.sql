-- Mailboxes with a hidden message whose time has come.
-- Plan: mailbox_due.
SELECT no FROM mailbox WHERE due_at IS NOT NULL AND lease IS NULL AND due_at <= ?1 ORDER BY due_at LIMIT ?2
