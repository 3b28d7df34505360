INSERT INTO message (mailbox, visible_at, no, class, execution, event, item) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
