-- The leases of this process on activities. Column order: `writer/held.rs`.
-- Plan: work_leased.
SELECT mailbox, execution, activity, no, lease, session IS NOT NULL FROM work WHERE lease IS NOT NULL AND owner = ?1
