SELECT outcomes, wakes, due_at FROM abide.finish_work($1, $2, $3, $4, $5)
