SELECT outcome, known, instance, wakes, due_at FROM abide.block_instance($1, $2, $3, $4, $5, $6, $7, $8, $9)
