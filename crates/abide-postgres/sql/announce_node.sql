SELECT abide.announce_node($1, $2, $3)
