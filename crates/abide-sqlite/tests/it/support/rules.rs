//! What the tables say twice, and must say alike.

use rusqlite::{Connection, Result};

/// What must hold in the tables whatever the time is. Each query finds rows that break it; `?1` is now.
const RULES: [(&str, &str); 14] = [
    (
        "a mailbox without a lease is ready exactly if it can be leased",
        "SELECT m.id FROM mailbox AS m WHERE ?1 > 0 AND m.lease IS NULL AND m.ready IS NOT (
             SELECT min(no) FROM message WHERE mailbox = m.no AND visible_at = 0 AND (
                 m.execution > 0
                 OR EXISTS (SELECT 1 FROM message WHERE mailbox = m.no AND visible_at = 0 AND class IN (1, 2))))",
    ),
    ("a leased mailbox is not ready", "SELECT id FROM mailbox WHERE ?1 > 0 AND lease IS NOT NULL AND ready IS NOT NULL"),
    (
        "a mailbox without a lease knows its next hidden message, and when it is tried again",
        "SELECT m.id FROM mailbox AS m WHERE ?1 > 0 AND m.lease IS NULL AND m.due_at IS NOT (
             SELECT min(at) FROM (
                 SELECT min(visible_at) AS at FROM message WHERE mailbox = m.no AND visible_at > 0
                 UNION ALL SELECT retry_at FROM block WHERE mailbox = m.no AND retry_at > 0))",
    ),
    (
        "an instance has the last event, the status and the pin of its current execution",
        "SELECT m.id FROM mailbox AS m LEFT JOIN execution AS e ON e.mailbox = m.no AND e.no = m.execution
         WHERE ?1 > 0 AND m.execution > 0 AND (e.no IS NULL OR e.status <> m.status OR e.pin <> m.pin OR m.last_event <> (
             SELECT coalesce(max(last_event), 0) FROM turn WHERE mailbox = m.no AND execution = m.execution))",
    ),
    (
        "a lane is there exactly while its session has work of its route, and knows the lowest",
        "WITH wanted AS (
             SELECT session, route, min(no) AS head FROM work
             WHERE ?1 > 0 AND session IS NOT NULL AND visible_at = 0 AND lease IS NULL AND held_since IS NULL
             GROUP BY session, route)
         SELECT session || '/' || route FROM (
             SELECT session, route, head FROM wanted EXCEPT SELECT session, route, head FROM lane)
         UNION ALL
         SELECT session || '/' || route FROM (
             SELECT session, route, head FROM lane EXCEPT SELECT session, route, head FROM wanted)",
    ),
    (
        "the lanes of a session that is locked are held by its owner",
        "SELECT l.session || '/' || l.route FROM lane AS l JOIN session AS s ON s.name = l.session
         WHERE s.locked_until > ?1 AND l.holder <> '=' || s.owner",
    ),
    (
        "the lanes of a session that nobody holds are free",
        "SELECT l.session || '/' || l.route FROM lane AS l LEFT JOIN session AS s ON s.name = l.session
         WHERE ?1 > 0 AND l.holder <> '' AND coalesce(s.held, 0) = 0",
    ),
    (
        "an instance has the route of its code and pin, and of none if it has ended",
        "SELECT m.id FROM mailbox AS m JOIN route AS r ON r.no = m.route
         WHERE ?1 > 0 AND m.execution > 0 AND (r.pin <> m.pin
             OR m.status = 'Running' AND (r.orchestration <> m.name OR r.version <> m.version)
             OR m.status IN ('Completed', 'Failed') AND r.orchestration <> '')",
    ),
    (
        "a mailbox without a lease has the route of its mail",
        "SELECT m.id FROM mailbox AS m JOIN route AS r ON r.no = m.route
         WHERE ?1 > 0 AND m.lease IS NULL AND (m.ready IS NOT NULL OR m.execution > 0) AND (
             r.has_cancel <> EXISTS (SELECT 1 FROM message WHERE mailbox = m.no AND visible_at = 0 AND class = 5)
             OR r.is_suspect <> coalesce((SELECT attempts >= 3 FROM message
                                          WHERE mailbox = m.no AND visible_at = 0 ORDER BY no LIMIT 1), 0))",
    ),
    (
        "a mailbox without a lease has the route of who refused it",
        "SELECT m.id FROM mailbox AS m JOIN route AS r ON r.no = m.route LEFT JOIN block AS b ON b.mailbox = m.no
         WHERE ?1 > 0 AND m.lease IS NULL AND (m.ready IS NOT NULL OR m.execution > 0)
           AND r.refused <> CASE WHEN b.retry_at IS NOT 0 THEN coalesce(b.refused, '') ELSE '' END",
    ),
    (
        "a mailbox knows that builds refused it, and that it may hold a cancel",
        "SELECT m.id FROM mailbox AS m WHERE ?1 > 0 AND (
             EXISTS (SELECT 1 FROM block WHERE mailbox = m.no) > (m.flags & 1)
             OR EXISTS (SELECT 1 FROM message WHERE mailbox = m.no AND class = 5) > (m.flags >> 1 & 1))",
    ),
    (
        "work that can be leased has the route of its tag and its attempts",
        "SELECT w.no || '' FROM work AS w JOIN work_route AS r ON r.no = w.route
         WHERE ?1 > 0 AND w.lease IS NULL AND w.visible_at = 0 AND w.held_since IS NULL AND (
             r.tag <> w.tag OR r.activity <> '' AND r.is_suspect <> (w.attempts >= 3))",
    ),
    (
        "a mailbox with mail knows whether it waits for a start, and then all its mail expires",
        "SELECT m.id FROM mailbox AS m JOIN message AS w ON w.mailbox = m.no
         WHERE ?1 > 0 AND (
             (m.flags >> 2 & 1) = (m.execution > 0 OR EXISTS (
                 SELECT 1 FROM message AS s WHERE s.mailbox = m.no AND s.class IN (1, 2)))
             OR (m.flags >> 2 & 1) AND w.expires_at IS NULL)",
    ),
    ("a locked session is held", "SELECT name FROM session WHERE locked_until > ?1 AND held <> 1"),
];

/// Where what is stored contradicts itself at `now`.
pub(crate) fn contradictions(connection: &Connection, now: u64) -> Result<Vec<String>> {
    let now = i64::try_from(now).unwrap();
    let mut broken = Vec::new();
    for (rule, query) in RULES {
        let mut statement = connection.prepare_cached(query)?;
        let rows = statement.query_map([now], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>>>()?;
        if !rows.is_empty() {
            broken.push(format!("{rule}, but not {rows:?}"));
        }
    }
    Ok(broken)
}
