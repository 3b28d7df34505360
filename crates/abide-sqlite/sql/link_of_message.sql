-- Who waits for the execution that a visible message starts, as its row says.
SELECT class, parent, execution, event FROM message WHERE mailbox = ?1 AND visible_at = 0 AND no = ?2
