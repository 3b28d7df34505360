SELECT outcomes, wakes, due_at, now, instance_leases, messages FROM abide.enqueue_messages($1, $2, $3, $4, $5)
