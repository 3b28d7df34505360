-- The leases of this process on activities, for who begins to listen. Column order: `writer/held.rs`.
-- Plan: work_leased.
SELECT mailbox, execution, activity, no, lease, session IS NOT NULL FROM work WHERE lease IS NOT NULL AND owner = ?1
