SELECT outcomes, instances, was_running, pruned_executions, pruned_events, wakes, due_at, routes, stolen, because,
       now, instance_leases, messages, work_leases, last_work
FROM abide.commit_turns($1, $2, $3, $4, $5, $6, $7)
