SELECT e.no FROM abide.execution AS e WHERE e.mailbox = (SELECT i.no FROM abide.instance AS i WHERE i.id = $1) ORDER BY e.no
