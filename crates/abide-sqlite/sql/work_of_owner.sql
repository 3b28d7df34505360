-- Leases of a process that is gone. Column order: `PromotedWork::read`.
-- Plan: work_leased.
SELECT mailbox, execution, activity, no, route, session, attempts FROM work WHERE lease IS NOT NULL AND owner = ?1
