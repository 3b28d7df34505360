-- What a turn says about its instance. Neither its lease nor its readiness: see progress_mailbox.
UPDATE mailbox
SET execution = ?2, status = ?3, pin = ?4, name = ?5, version = ?6,
    parent = ?7, parent_execution = ?8, parent_event = ?9, created_at = ?10, completed_at = ?11
WHERE no = ?1
