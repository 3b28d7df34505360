SELECT dead, leases, messages, due_at FROM abide.set_messages_aside($1, $2, $3)
