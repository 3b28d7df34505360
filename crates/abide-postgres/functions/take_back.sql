-- Deletes work rows that are locked, and says whose leases that ended, but for those that had run out: the caller tells them when it has
-- committed. sessions are those whose lanes are to be settled.
CREATE FUNCTION abide.take_back(
    p_work bigint[], p_because text[], p_now bigint, OUT stolen text[], OUT because text[], OUT sessions text[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH gone AS (
        DELETE FROM abide.work AS w
        USING (SELECT DISTINCT ON (no) no, why FROM unnest(p_work, p_because) AS d (no, why) ORDER BY no) AS d
        WHERE w.no = ANY (ARRAY[d.no])
        RETURNING w.no, w.mailbox, CASE WHEN w.leased_until > p_now THEN w.lease END AS lease, w.session, d.why
    )
    SELECT coalesce(array_agg(concat_ws('.', 'lock_w', mailbox, no, lease) ORDER BY no) FILTER (WHERE lease IS NOT NULL), '{}'),
           coalesce(array_agg(why ORDER BY no) FILTER (WHERE lease IS NOT NULL), '{}'),
           coalesce(array_agg(DISTINCT session) FILTER (WHERE session IS NOT NULL), '{}')
    INTO stolen, because, sessions FROM gone;
END $$;
