-- With the lock files by which their processes are known to live.
SELECT n.said, n.started_at, n.seen_at, n.owner, o.file FROM node AS n LEFT JOIN owner AS o ON o.no = n.owner ORDER BY n.id
