-- Starts that name a parent, in whatever mailbox, at most ?2; those in deleted mailboxes are gone already.
-- Plan: message_child.
SELECT m.mailbox, m.visible_at, m.no FROM message AS m
WHERE m.parent = ?1 AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.mailbox = m.mailbox)
LIMIT ?2
