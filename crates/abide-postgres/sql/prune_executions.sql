SELECT outcome, executions, events, stolen, because FROM abide.prune_executions($1, $2, $3, $4, $5)
