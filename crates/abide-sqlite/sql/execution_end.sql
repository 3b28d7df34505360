-- How an execution ended, if it is there.
SELECT e.completed_at FROM mailbox AS m JOIN execution AS e ON e.mailbox = m.no WHERE m.id = ?1 AND e.no = ?2
