-- When time alone makes work leasable: the end of a delay, of a lease, or of the lock of a session behind which work waits.
CREATE FUNCTION abide.next_work_due() RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT least(
        (SELECT w.due_at FROM abide.work AS w WHERE w.due_at IS NOT NULL AND w.held_since IS NULL ORDER BY w.due_at LIMIT 1),
        (SELECT l.held_until FROM abide.lane AS l WHERE l.head IS NOT NULL AND l.held_until IS NOT NULL
         ORDER BY l.held_until LIMIT 1))
$$;
