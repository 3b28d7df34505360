-- There is no start any more: what is left waits for another, for ?3 milliseconds from the time at which it is visible.
UPDATE message SET expires_at = max(visible_at, ?2) + ?3 WHERE mailbox = ?1
