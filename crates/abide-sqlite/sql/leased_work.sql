SELECT session, route, attempts, lease, leased_until, lease_counts FROM work WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4
