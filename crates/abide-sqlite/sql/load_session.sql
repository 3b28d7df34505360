SELECT owner, locked_until FROM session WHERE name = ?1
