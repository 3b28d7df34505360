-- Leases that ran out. Column order: `PromotedWork::read`.
-- Plan: work_leased.
SELECT mailbox, execution, activity, no, route, session, attempts FROM work WHERE lease IS NOT NULL AND leased_until <= ?1 ORDER BY leased_until LIMIT ?2
