INSERT INTO message (mailbox, visible_at, no, class, execution, event, parent, item, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
