-- An instance that another one waits for. Column order: `read_child`.
-- Plan: mailbox_id.
SELECT no, execution, name, version, pin, status, iif(lease IS NULL, NULL, leased_until) FROM mailbox WHERE id = ?1
