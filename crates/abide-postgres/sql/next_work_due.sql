-- When time alone makes work leasable: the end of a delay or of a lease, or that of a session's lock, also if nothing waits behind it now.
SELECT least(abide.next_work_due(),
             (SELECT s.locked_until FROM abide.session AS s WHERE s.locked_until > (SELECT abide.now())
              ORDER BY s.locked_until LIMIT 1))
