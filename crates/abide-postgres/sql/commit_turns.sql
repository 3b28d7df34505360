SELECT outcomes, instances, is_new, pruned_executions, pruned_events, wakes, due_at, tags, stolen, because
FROM abide.commit_turns($1, $2, $3, $4, $5, $6, $7)
