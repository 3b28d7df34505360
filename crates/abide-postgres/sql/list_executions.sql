SELECT e.no FROM abide.instance AS i JOIN abide.execution AS e ON e.mailbox = ANY (ARRAY[i.no]) WHERE i.id = $1 ORDER BY e.no
