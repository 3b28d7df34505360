-- A renewal never shortens a lease.
UPDATE mailbox SET leased_until = max(leased_until, ?2) WHERE no = ?1
