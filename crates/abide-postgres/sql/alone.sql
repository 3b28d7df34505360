-- Whether no other node is there to be told anything: each shares a lock for as long as it listens. If our own cannot be seen either, nothing
-- is known, and there may be others.
SELECT coalesce(bool_and(l.pid = pg_backend_pid()), false)
FROM pg_locks AS l
WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid = $1::integer::oid AND l.objid = $2::integer::oid
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
