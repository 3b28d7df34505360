UPDATE counter SET number = ?1, mailbox = ?2, route = ?3, work_route = ?4 WHERE only = 1
