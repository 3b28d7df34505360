-- What every commit changes: where the instance stands and what it waits for, that it is free, and when it can be leased again, by whom.
UPDATE mailbox
SET last_event = ?2, updated_at = ?3, ready = ?4, due_at = ?5, route = ?6, flags = ?7, waiting = ?8,
    lease = NULL, leased_until = NULL, owner = NULL, batch = NULL
WHERE no = ?1
