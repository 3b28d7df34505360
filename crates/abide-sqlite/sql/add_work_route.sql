INSERT INTO work_route (no, activity, tag, is_suspect) VALUES (?1, ?2, ?3, ?4)
