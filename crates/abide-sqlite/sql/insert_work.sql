INSERT INTO work (mailbox, execution, activity, no, tag, session, item, route) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
