-- What valid leases have handed out; ?1 is the time.
-- Plan: mailbox_leased.
SELECT no, batch FROM mailbox WHERE lease IS NOT NULL AND leased_until > ?1
