SELECT now, leases, messages, unjudged, due_at FROM abide.lease_instances($1, $2, $3, $4, $5, $6)
