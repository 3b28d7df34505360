INSERT INTO mailbox (no, id) VALUES (?1, ?2)
