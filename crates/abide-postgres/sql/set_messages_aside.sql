SELECT dead, leases, messages, wakes, due_at FROM abide.set_messages_aside($1, $2, $3, $4, $5, $6, $7)
