UPDATE counter SET number = ?1, mailbox = ?2 WHERE only = 1
