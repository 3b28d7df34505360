-- What a commit makes of an instance, readiness and release included.
UPDATE mailbox
SET execution = ?2, last_event = ?3, status = ?4, pin = ?5, name = ?6, version = ?7,
    parent = ?8, parent_execution = ?9, parent_event = ?10, created_at = ?11, updated_at = ?12,
    ready = ?13, due_at = ?14, lease = NULL, leased_until = NULL, owner = NULL, batch = NULL
WHERE no = ?1
