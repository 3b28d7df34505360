SELECT was_blocked, wakes, due_at, routes FROM abide.retry_blocked($1)
