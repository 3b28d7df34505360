-- Column order: `BlockRow::read`.
SELECT execution, refused, retry_after, retry_at, kind, since, detail, build, event FROM block WHERE mailbox = ?1
