-- A leased mailbox is in no queue; due_at stays, and mailbox_due ignores it.
UPDATE mailbox
SET ready = NULL, lease = ?2, leased_until = ?3, owner = ?4, batch = ?5, lease_counts = ?6
WHERE no = ?1
