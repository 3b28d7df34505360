//! What the tables say twice, and must say alike.

use super::database::Database;

/// What must hold in the tables whatever the time is. Each query finds rows that break it; `$1` is now.
const RULES: [(&str, &str); 10] = [
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
        "a mailbox without a lease has nothing of one, and knows its next hidden message",
        "SELECT b.id FROM abide.mailbox AS b WHERE $1::bigint > 0 AND b.lease IS NULL
         AND (b.leased_until IS NOT NULL OR b.batch_to IS NOT NULL OR b.batch_first IS NOT NULL OR b.due_at IS DISTINCT FROM (
             SELECT min(m.visible_at) FROM abide.message AS m WHERE m.mailbox = b.no))",
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
        "a lane knows the lowest work of its session and tag",
        "SELECT coalesce(l.session, w.session) || '/' || coalesce(l.tag, w.tag)
         FROM (SELECT session, tag, min(place) AS head FROM abide.work WHERE session IS NOT NULL GROUP BY session, tag) AS w
         FULL JOIN abide.lane AS l ON l.session = w.session AND l.tag = w.tag
         WHERE $1::bigint > 0 AND l.head IS DISTINCT FROM w.head",
    ),
    (
        "the lanes of a session that is locked are held by its owner",
        "SELECT l.session || '/' || l.tag FROM abide.lane AS l JOIN abide.session AS s ON s.name = l.session
         WHERE s.locked_until > $1 AND (l.holder, l.held_until) IS DISTINCT FROM (s.owner, s.locked_until)",
    ),
    (
        "the lanes of a session that is not locked are free, or will be when somebody looks",
        "SELECT l.session || '/' || l.tag FROM abide.lane AS l LEFT JOIN abide.session AS s ON s.name = l.session
         WHERE (s.locked_until > $1) IS NOT TRUE AND l.holder IS NOT NULL AND l.held_until > $1",
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
