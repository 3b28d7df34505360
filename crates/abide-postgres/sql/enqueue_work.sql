SELECT tags FROM abide.enqueue_work($1)
