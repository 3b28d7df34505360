INSERT INTO owner (file, is_alone) VALUES (?1, ?2) RETURNING no
