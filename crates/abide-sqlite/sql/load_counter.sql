-- The numbers given out last.
SELECT number, mailbox, route, work_route FROM counter WHERE only = 1
