-- Starts that name a parent, in whatever mailbox.
-- Plan: message_child.
SELECT mailbox, visible_at, no FROM message WHERE parent = ?1
