//! What the tables say twice, and must say alike.

use super::database::Database;

/// What must hold in the tables whatever the time is. Each query finds rows that break it; `$1` is now.
const RULES: [(&str, &str); 16] = [
    (
        "a mailbox without a lease is ready exactly if it can be leased",
        "SELECT b.id FROM abide.mailbox AS b WHERE $1::bigint > 0 AND b.lease IS NULL AND b.ready IS DISTINCT FROM (
             SELECT min(m.no) FROM abide.message AS m WHERE m.mailbox = b.no AND m.visible_at IS NULL AND (
                 b.execution > 0 OR EXISTS (
                     SELECT FROM abide.message AS s WHERE s.mailbox = b.no AND s.visible_at IS NULL AND s.class IN (1, 2))))",
    ),
    (
        "a leased mailbox is not ready, and due when its lease ends",
        "SELECT id FROM abide.mailbox
         WHERE $1::bigint > 0 AND lease IS NOT NULL AND (ready IS NOT NULL OR due_at IS DISTINCT FROM leased_until)",
    ),
    (
        "a mailbox without a lease has nothing of one, and knows its next hidden message, and when it is tried again",
        "SELECT b.id FROM abide.mailbox AS b WHERE $1::bigint > 0 AND b.lease IS NULL
         AND (b.leased_until IS NOT NULL OR b.batch_to IS NOT NULL OR b.batch_first IS NOT NULL OR b.batch_cancel IS NOT NULL
              OR b.due_at IS DISTINCT FROM least(
             (SELECT min(m.visible_at) FROM abide.message AS m WHERE m.mailbox = b.no),
             (SELECT k.retry_at FROM abide.block AS k WHERE k.mailbox = b.no)))",
    ),
    (
        "an instance has the last event, the status and the pin of its current execution",
        "SELECT b.id FROM abide.mailbox AS b LEFT JOIN abide.execution AS e ON e.mailbox = b.no AND e.no = b.execution
         WHERE $1::bigint > 0 AND b.execution > 0 AND (
             e.no IS NULL OR e.status <> b.status OR e.pin <> b.pin OR b.last_event <> (
                 SELECT coalesce(max(t.last_event), 0) FROM abide.turn AS t WHERE t.mailbox = b.no AND t.execution = b.execution))",
    ),
    (
        "what is said about an instance is what its mailbox and its execution say",
        "SELECT b.id FROM abide.mailbox AS b
         FULL JOIN abide.instance AS i ON i.no = b.no
         LEFT JOIN abide.execution AS e ON e.mailbox = b.no AND e.no = b.execution
         WHERE $1::bigint > 0 AND (
             b.no IS NULL OR i.no IS NULL OR b.id <> i.id OR b.status <> i.status OR i.has_past <> (b.execution > 1)
             OR (i.created_at > 0) <> (b.execution > 0)
             OR i.completed_at IS DISTINCT FROM CASE WHEN b.status IN ('Completed', 'Failed') THEN e.completed_at END)",
    ),
    (
        "no execution is missing from the unbroken one on",
        "SELECT b.id FROM abide.mailbox AS b WHERE $1::bigint > 0 AND b.execution > 0 AND (
             SELECT count(*) FROM abide.execution AS e WHERE e.mailbox = b.no AND e.no >= b.unbroken
         ) <> b.execution - b.unbroken + 1",
    ),
    (
        "work that is leased is due when its lease ends",
        "SELECT no::text FROM abide.work WHERE $1::bigint > 0 AND (
             (lease IS NULL) <> (leased_until IS NULL) OR (lease IS NOT NULL AND due_at IS DISTINCT FROM leased_until))",
    ),
    (
        "a lane knows the lowest work of its session and route",
        "SELECT coalesce(l.session, w.session) || '/' || coalesce(l.route, w.route)
         FROM (SELECT session, route, min(place) AS head FROM abide.work WHERE session IS NOT NULL GROUP BY session, route) AS w
         FULL JOIN abide.lane AS l ON l.session = w.session AND l.route = w.route
         WHERE $1::bigint > 0 AND l.head IS DISTINCT FROM w.head",
    ),
    (
        "the lanes of a session that is locked are held by its owner",
        "SELECT l.session || '/' || l.route FROM abide.lane AS l JOIN abide.session AS s ON s.name = l.session
         WHERE s.locked_until > $1 AND (l.holder, l.held_until) IS DISTINCT FROM (s.owner, s.locked_until)",
    ),
    (
        "the lanes of a session that is not locked are free, or will be when somebody looks",
        "SELECT l.session || '/' || l.route FROM abide.lane AS l LEFT JOIN abide.session AS s ON s.name = l.session
         WHERE (s.locked_until > $1) IS NOT TRUE AND l.holder IS NOT NULL AND l.held_until > $1",
    ),
    (
        "a mailbox that can be leased has the route of its code and its pin",
        "SELECT b.id FROM abide.mailbox AS b JOIN abide.instance AS i ON i.no = b.no
         LEFT JOIN abide.route AS r ON r.no = (b.route & 274877906943) >> 1
         LEFT JOIN abide.route AS c ON c.no = (
             SELECT m.code FROM abide.message AS m
             WHERE m.mailbox = b.no AND m.visible_at IS NULL AND m.code IS NOT NULL
               AND (m.class = 2 OR m.class = 1 AND b.execution = 0) ORDER BY m.no LIMIT 1)
         WHERE $1::bigint > 0 AND b.ready IS NOT NULL AND (r.orchestration, r.version, r.pin) IS DISTINCT FROM (
             CASE WHEN b.execution > 0 AND b.status = 'Running' THEN i.name
                  WHEN b.status IN ('Completed', 'Failed') THEN '' ELSE coalesce(c.orchestration, '') END,
             CASE WHEN b.execution > 0 AND b.status = 'Running' THEN i.version
                  WHEN b.status IN ('Completed', 'Failed') THEN '' ELSE coalesce(c.version, '') END, b.pin)",
    ),
    (
        "a mailbox that can be leased has the route of its mail",
        "SELECT b.id FROM abide.mailbox AS b
         WHERE $1::bigint > 0 AND b.ready IS NOT NULL AND (b.route >= 1099511627776, b.route & 1 = 1, b.route & 274877906944 > 0) IS DISTINCT FROM (
             EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = b.no AND m.visible_at IS NULL AND m.class = 5),
             (SELECT m.attempts >= 3 FROM abide.message AS m
              WHERE m.mailbox = b.no AND m.visible_at IS NULL ORDER BY m.no LIMIT 1), b.pin <> '')",
    ),
    (
        "a mailbox that can be leased has the route of who refused it",
        "SELECT b.id FROM abide.mailbox AS b JOIN abide.route AS r ON r.no = (b.route & 274877906943) >> 1
         LEFT JOIN abide.block AS k ON k.mailbox = b.no
         WHERE $1::bigint > 0 AND b.ready IS NOT NULL
           AND (r.refused <> CASE WHEN k.is_open THEN '' ELSE coalesce(k.refused, '') END
                OR (r.refused <> '') <> (b.route & 549755813888 > 0))",
    ),
    (
        "a mailbox knows that builds refused it, and that it may hold a cancel",
        "SELECT b.id FROM abide.mailbox AS b WHERE $1::bigint > 0 AND (
             EXISTS (SELECT FROM abide.block AS k WHERE k.mailbox = b.no) AND b.flags & 1 = 0
             OR EXISTS (SELECT FROM abide.message AS m WHERE m.mailbox = b.no AND m.class = 5) AND b.flags & 2 = 0)
         UNION ALL
         SELECT k.mailbox::text FROM abide.block AS k
         WHERE NOT EXISTS (SELECT FROM abide.mailbox AS b WHERE b.no = k.mailbox)",
    ),
    (
        "a mailbox with mail knows whether it waits for a start, and then all its mail expires",
        "SELECT b.id FROM abide.mailbox AS b JOIN abide.message AS m ON m.mailbox = b.no
         WHERE $1::bigint > 0 AND (
             (b.flags & 4 = 4) = (b.execution > 0 OR EXISTS (
                 SELECT FROM abide.message AS s WHERE s.mailbox = b.no AND s.class IN (1, 2)))
             OR b.flags & 4 = 4 AND m.expires_at IS NULL)",
    ),
    (
        "work has the route of its tag and its attempts, and is due at no time if it is held",
        "SELECT w.no::text FROM abide.work AS w LEFT JOIN abide.work_route AS r ON r.no = (w.route & 274877906943) >> 1
         WHERE $1::bigint > 0 AND (
             r.tag IS DISTINCT FROM w.tag OR (r.activity = '') <> w.is_unreadable
             OR (w.tag <> '') <> (w.route & 274877906944 > 0) OR (w.route & 1 = 1) <> (w.attempts >= 3 AND NOT w.is_unreadable)
             OR w.held_since IS NOT NULL AND w.due_at <> 9223372036854775807)",
    ),
];

/// Where what is stored contradicts itself at `now`.
pub(crate) fn contradictions(database: &Database, now: u64) -> Vec<String> {
    let now = i64::try_from(now).unwrap();
    let mut broken = Vec::new();
    for (rule, query) in RULES {
        let rows: Vec<Option<String>> = database.rows(query, &[&now]).iter().map(|row| row.get(0)).collect();
        if !rows.is_empty() {
            broken.push(format!("{rule}, but not {rows:?}"));
        }
    }
    broken
}
