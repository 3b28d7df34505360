SELECT items, more, wakes, due_at FROM abide.delete_unborn($1, $2)
