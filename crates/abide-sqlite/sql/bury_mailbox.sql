INSERT INTO tombstone (mailbox, held_until) VALUES (?1, ?2)
