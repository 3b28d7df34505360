-- ?5: the routes of work that the owner can run; NULL renews whatever waits. Otherwise a session is left out
-- if work waits in it, none of this work is leased, and the owner can run none of it. Work of deleted
-- mailboxes does not count. Plan: session_owner, work_of_session.
UPDATE session SET locked_until = max(locked_until, ?2)
WHERE owner = ?1 AND held = 1 AND locked_until > ?3 AND last_active_at > ?4
  AND (?5 IS NULL OR EXISTS (
          SELECT 1 FROM work AS w
          WHERE w.session = session.name AND w.session IS NOT NULL AND w.held_since IS NULL
            AND (w.leased_until > ?3 OR w.route IN (SELECT value FROM json_each(?5)))
            AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.mailbox = w.mailbox))
       OR NOT EXISTS (
          SELECT 1 FROM work AS w
          WHERE w.session = session.name AND w.session IS NOT NULL AND w.held_since IS NULL
            AND NOT EXISTS (SELECT 1 FROM tombstone WHERE tombstone.mailbox = w.mailbox)))
