-- Appended by rowid, whatever the instance: a group of turns fills the same few pages.
INSERT INTO turn (mailbox, execution, first_event, last_event, length, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
