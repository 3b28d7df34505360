SELECT after_ms FROM abide.remove_part($1)
