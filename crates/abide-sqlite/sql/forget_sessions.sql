-- Looks at every session; called rarely. Work of deleted mailboxes does not keep a session.
-- Plan: work_of_session.
DELETE FROM session
WHERE locked_until <= ?1 AND NOT EXISTS (
    SELECT 1 FROM work WHERE work.session = session.name AND work.session IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.mailbox = work.mailbox))
