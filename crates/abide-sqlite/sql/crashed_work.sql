-- Work of an instance that was tried, or is held, and that nobody has leased. Column order: `PromotedWork::read`.
SELECT mailbox, execution, activity, no, route, session, attempts, held_since IS NOT NULL, visible_at FROM work
WHERE mailbox = ?1 AND lease IS NULL AND (attempts > 0 OR held_since IS NOT NULL)
