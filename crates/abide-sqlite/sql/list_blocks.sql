-- Blocked instances, those blocked first first. Column order: `read_blocked`.
-- Plan: block_since.
SELECT m.id, m.execution > 0, m.name, b.kind, b.since, b.detail, b.build, b.event
FROM block AS b JOIN mailbox AS m ON m.no = b.mailbox WHERE b.kind IS NOT NULL ORDER BY b.since, m.id LIMIT ?1
