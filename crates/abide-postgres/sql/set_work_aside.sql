SELECT is_dead, wakes, due_at FROM abide.set_work_aside($1, $2, $3, $4, $5, $6, $7, $8)
