SELECT outcomes, wakes, due_at FROM abide.abandon_instances($1, $2, $3, $4)
