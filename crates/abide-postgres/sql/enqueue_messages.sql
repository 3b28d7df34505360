SELECT outcomes, wakes, due_at FROM abide.enqueue_messages($1, $2, $3, $4)
