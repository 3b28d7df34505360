SELECT ARRAY[outcome] AS outcomes, ARRAY[instance] AS instances, ARRAY[was_running] AS was_running, '{0}'::bigint[] AS pruned_executions,
       '{0}'::bigint[] AS pruned_events, wakes, due_at, routes, '{}'::text[] AS stolen, '{}'::text[] AS because,
       now, instance_leases, messages, work_leases, last_work
FROM abide.commit_one($1, $2, $3, $4, $5, $6)
