SELECT e.no FROM abide.instance AS i JOIN abide.execution AS e ON e.mailbox = i.no WHERE i.id = $1 ORDER BY e.no
