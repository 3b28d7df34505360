-- Messages whose time has come are visible from now on.
UPDATE message SET visible_at = 0 WHERE mailbox = ?1 AND visible_at > 0 AND visible_at <= ?2
