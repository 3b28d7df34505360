SELECT now, leases, unjudged, due_at FROM abide.lease_work($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
