INSERT INTO work (mailbox, execution, activity, no, tag, session, first_try, try_no, item)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
