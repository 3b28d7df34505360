SELECT outcomes, wakes, due_at, now, instance_leases, messages FROM abide.start_one($1, $2, $3, $4, $5)
