-- Held work, but for that of deleted mailboxes whose rows are not all removed yet.
-- Plan: work_held.
SELECT count(*) FROM work AS w INDEXED BY work_held
WHERE w.held_since IS NOT NULL AND EXISTS (SELECT 1 FROM mailbox AS m WHERE m.no = w.mailbox)
