SELECT outcome, culprit, child, instances, executions, events, items, stolen, because, gone, wakes, due_at, held
FROM abide.delete_instances($1, $2, $3, $4, $5, $6, $7)
