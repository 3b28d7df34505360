-- Leases that ran out.
-- Plan: mailbox_leased.
SELECT no FROM mailbox WHERE lease IS NOT NULL AND leased_until <= ?1 ORDER BY leased_until LIMIT ?2
