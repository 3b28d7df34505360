INSERT INTO execution (mailbox, no, status, started_at) VALUES (?1, ?2, 'Running', ?3)
ON CONFLICT (mailbox, no) DO NOTHING
