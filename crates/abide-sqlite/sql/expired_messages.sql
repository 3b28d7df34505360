-- Messages whose time is over, and whether it means anything: only in a mailbox that waits for a start.
-- Plan: message_expiry.
SELECT m.mailbox, m.visible_at, m.no, coalesce((SELECT b.flags & 4 FROM mailbox AS b WHERE b.no = m.mailbox), 0)
FROM message AS m WHERE m.expires_at IS NOT NULL AND m.expires_at <= ?1 ORDER BY m.expires_at LIMIT ?2
