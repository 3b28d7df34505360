SELECT abide.tell($1, $2)
