-- The work of a mailbox that is leased. Looks at all leased work, which is what workers run now: the rows of the mailbox may be many more.
-- Plan: work_leased.
SELECT execution, activity, no, route, session, lease FROM work INDEXED BY work_leased WHERE lease IS NOT NULL AND mailbox = ?1
