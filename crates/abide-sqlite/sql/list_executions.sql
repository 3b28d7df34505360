SELECT e.no FROM mailbox AS m JOIN execution AS e ON e.mailbox = m.no WHERE m.id = ?1 ORDER BY e.no
