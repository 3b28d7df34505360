-- The numbers given out last.
SELECT number, mailbox FROM counter WHERE only = 1
