INSERT INTO custom_status (mailbox, value, version) VALUES (?1, ?2, 1)
ON CONFLICT (mailbox) DO UPDATE SET value = excluded.value, version = version + 1
