SELECT outcomes, routes, due_at FROM abide.abandon_work($1, $2, $3, $4)
