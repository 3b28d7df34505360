-- Plan: session_owner.
UPDATE session SET locked_until = max(locked_until, ?2)
WHERE owner = ?1 AND held = 1 AND locked_until > ?3 AND last_active_at > ?4
