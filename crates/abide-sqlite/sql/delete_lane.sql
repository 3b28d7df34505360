DELETE FROM lane WHERE session = ?1 AND tag = ?2
