INSERT INTO owner (lock_file) VALUES (?1) RETURNING no
