UPDATE work SET lease = ?5, leased_until = ?6, owner = ?7, attempts = attempts + ?8, lease_counts = ?8
WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4
