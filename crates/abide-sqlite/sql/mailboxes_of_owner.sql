-- Leases of a process that is gone: all leases are looked at, which are as many as turns are running.
-- Plan: mailbox_leased.
SELECT no FROM mailbox WHERE lease IS NOT NULL AND owner = ?1
