SELECT now, leases, messages, unjudged, canceled, due_at FROM abide.lease_instances($1, $2, $3, $4, $5, $6, $7, $8, $9)
