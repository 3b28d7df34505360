INSERT INTO block (mailbox, execution, refused, retry_after, retry_at, kind, since, detail, build, event)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT (mailbox) DO UPDATE SET
    execution = excluded.execution, refused = excluded.refused, retry_after = excluded.retry_after,
    retry_at = excluded.retry_at, kind = excluded.kind,
    since = CASE WHEN block.kind IS NOT NULL AND block.execution = excluded.execution THEN block.since ELSE excluded.since END, detail = excluded.detail,
    build = excluded.build, event = excluded.event
