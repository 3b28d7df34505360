DELETE FROM lane WHERE session = ?1 AND route = ?2
