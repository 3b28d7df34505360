UPDATE lane SET holder = ?2 WHERE session = ?1
