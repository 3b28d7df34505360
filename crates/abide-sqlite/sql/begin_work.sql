UPDATE work SET attempts = attempts + 1, lease_counts = 1
WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4
