INSERT INTO route (no, orchestration, version, pin, refused, is_suspect, has_cancel) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
