UPDATE block SET retry_at = ?2 WHERE mailbox = ?1
