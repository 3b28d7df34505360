-- The stores that listen, each by the number that its session holds as a lock (src/node/company.rs).
CREATE FUNCTION abide.listening() RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT (l.classid::bigint << 32) | l.objid::bigint FROM pg_locks AS l
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
          AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database()));
END $$;
