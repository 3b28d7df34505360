-- Work whose time has come. Column order: `PromotedWork::read`.
-- Plan: work_hidden.
SELECT mailbox, execution, activity, no, route, session, attempts FROM work WHERE visible_at > 0 AND lease IS NULL AND visible_at <= ?1 ORDER BY visible_at LIMIT ?2
