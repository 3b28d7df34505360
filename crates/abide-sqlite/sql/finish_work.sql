-- The fence is part of the statement: a stale token removes nothing.
DELETE FROM work
WHERE mailbox = ?1 AND execution = ?2 AND activity = ?3 AND no = ?4 AND lease = ?5 AND leased_until > ?6
