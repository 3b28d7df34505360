-- A renewal never shortens a lease, and never revives one.
UPDATE work SET leased_until = max(leased_until, ?7)
WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4 AND lease = ?5 AND leased_until > ?6
