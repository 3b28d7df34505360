INSERT INTO work (mailbox, execution, activity, no, tag, session, item, route, first_try, try_no)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
