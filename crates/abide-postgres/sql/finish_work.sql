SELECT outcomes, wakes, due_at, now, instance_leases, messages FROM abide.finish_work($1, $2, $3, $4, $5, $6)
