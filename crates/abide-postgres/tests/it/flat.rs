//! What a fetch costs does not depend on what else is there: sleeping timers, idle instances, versions that nobody here can replay, work of
//! others. Counted in pages that the server looks at, by itself.
//!
//! `ABIDE_FLAT_ROWS` sets how much there is behind a fetch; a million is for `cargo xtask torture flat-postgres`.

use abide_postgres::PostgresProvider;

use crate::support::database::Database;

/// How much there is behind a fetch.
pub(crate) fn many() -> u64 {
    std::env::var("ABIDE_FLAT_ROWS").map_or(50_000, |text| text.parse().expect("a number of rows"))
}

/// With so little there is no difference between a good way and a bad one.
const FEW: u64 = 200;

/// Pages that a fetch of ten may look at in addition: an index with more rows is deeper, by a page or two for each look, and each of the ten
/// takes some eight looks.
const DEEPER: i64 = 160;

/// The same for a look that finds nothing.
const DEEPER_IN_VAIN: i64 = 30;

/// What there is to fetch: ten instances with a message, ten activities.
const FRONT: &str = "
    INSERT INTO abide.instance (no, id, name, status, created_at) SELECT i, 'front-' || i, 'Order', 'Running', 1 FROM generate_series(1, 10) AS i;
    INSERT INTO abide.mailbox (no, id, execution, last_event, status, route)
    SELECT i, 'front-' || i, 1, 1, 'Running', abide.route_no('Order', '1.0.0', '', '') * 2 FROM generate_series(1, 10) AS i;
    INSERT INTO abide.message (no, mailbox, class, item)
    SELECT 1000000000 + i, i, 0, '{\"ExternalRaised\":{\"instance\":\"x\",\"name\":\"go\",\"data\":\"\"}}' FROM generate_series(1, 10) AS i;
    UPDATE abide.mailbox SET ready = 1000000000 + no WHERE no <= 10;
    INSERT INTO abide.work (no, mailbox, execution, activity, route, item)
    SELECT 1000000100 + i, i, 1, 2, abide.work_route_of('Charge', ''), '{}' FROM generate_series(1, 10) AS i;";

/// Instances that sleep, with a timer each. `{rows}` says how many, `{base}` from which number on.
const SLEEPING: &str = "
    INSERT INTO abide.mailbox (no, id, execution, last_event, status, due_at)
    SELECT {base} + i, 'sleepy-{base}-' || i, 1, 1, 'Running', 9000000000000000 + i FROM generate_series(1, {rows}) AS i;
    INSERT INTO abide.message (no, mailbox, class, visible_at, execution, event, item)
    SELECT {base} + i, {base} + i, 4, 9000000000000000 + i, 1, 2, '{}' FROM generate_series(1, {rows}) AS i;";

/// Instances that wait for nothing in particular.
const IDLE: &str = "
    INSERT INTO abide.mailbox (no, id, execution, last_event, status, pin)
    SELECT {base} + i, 'idle-{base}-' || i, 1, 1, 'Running', '0.2.0' FROM generate_series(1, {rows}) AS i;";

/// What is behind, and in nobody's way.
const BEHIND: &[(&str, &str)] = &[
    ("instances that sleep", SLEEPING),
    (
        "one instance with many timers, and much mail behind its lease",
        "INSERT INTO abide.mailbox (no, id, execution, last_event, status, due_at, lease, leased_until, batch_to)
         VALUES ({base}, 'hot-{base}', 1, 1, 'Running', 9000000000000000, 1, 9000000000000000, 0);
         INSERT INTO abide.message (no, mailbox, class, visible_at, execution, event, item)
         SELECT {base} + i, {base}, 4, 9000000000000000 + i, 1, i, '{}' FROM generate_series(1, {rows}) AS i;
         INSERT INTO abide.message (no, mailbox, class, item) SELECT {base} + {rows} + i, {base}, 0, '{}' FROM generate_series(1, {rows}) AS i;",
    ),
    ("idle instances", IDLE),
    (
        "instances that nobody here can replay",
        "INSERT INTO abide.mailbox (no, id, execution, last_event, status, pin, route, ready)
         SELECT {base} + i, 'foreign-{base}-' || i, 1, 1, 'Running', '9.0.0',
                abide.route_no('Order', '1.0.0', '9.0.0', '') * 2 + 274877906944, i FROM generate_series(1, {rows}) AS i;",
    ),
    (
        "instances and work of a route that nobody here serves",
        "INSERT INTO abide.mailbox (no, id, execution, last_event, status, route, ready)
         SELECT {base} + i, 'unserved-{base}-' || i, 1, 1, 'Running', r.route, i
         FROM generate_series(1, {rows}) AS i, (SELECT abide.route_no('Refund', '1.0.0', '', '') * 2 AS route) AS r;
         INSERT INTO abide.work (no, mailbox, execution, activity, route, item)
         SELECT {base} + 2 * {rows} + i, {base}, 1, i, r.route, '{}'
         FROM generate_series(1, {rows}) AS i, (SELECT abide.work_route_of('Chrage', '') AS route) AS r;",
    ),
    (
        "instances and work of a thousand routes that nobody here serves",
        "INSERT INTO abide.mailbox (no, id, execution, last_event, status, route, ready)
         SELECT {base} + i, 'others-{base}-' || i, 1, 1, 'Running', abide.route_no('Other' || i, '1.0.0', '', '') * 2, i
         FROM generate_series(1, least({rows}, 1000)) AS i;
         INSERT INTO abide.work (no, mailbox, execution, activity, route, item)
         SELECT {base} + 2 * {rows} + i, {base}, 1, i, abide.work_route_of('Other' || i, ''), '{}'
         FROM generate_series(1, least({rows}, 1000)) AS i;",
    ),
    (
        "mail for nobody",
        "INSERT INTO abide.mailbox (no, id) SELECT {base} + i, 'nobody-{base}-' || i FROM generate_series(1, {rows}) AS i;
         INSERT INTO abide.message (no, mailbox, class, item) SELECT {base} + i, {base} + i, 0, '{}' FROM generate_series(1, {rows}) AS i;",
    ),
    (
        "work under a tag that nobody here serves, and work that is leased",
        "INSERT INTO abide.work (no, mailbox, execution, activity, tag, route, item)
         SELECT {base} + i, {base}, 1, i, '=gpu', r.route, '{}'
         FROM generate_series(1, {rows}) AS i, (SELECT abide.work_route_of('Charge', '=gpu') AS route) AS r;
         INSERT INTO abide.work (no, mailbox, execution, activity, lease, leased_until, due_at, item)
         SELECT {base} + {rows} + i, {base}, 2, i, 1, 9000000000000000, 9000000000000000, '{}' FROM generate_series(1, {rows}) AS i;",
    ),
    (
        "work of sessions that belong to others",
        "INSERT INTO abide.session (name, owner, locked_until, last_active_at)
         SELECT 's-{base}-' || i, 'somebody', 9000000000000000, 1 FROM generate_series(1, {rows}) AS i;
         INSERT INTO abide.lane (session, route, head, holder, held_until)
         SELECT 's-{base}-' || i, r.route, {base} + i, 'somebody', 9000000000000000
         FROM generate_series(1, {rows}) AS i, (SELECT abide.work_route_of('Charge', '') AS route) AS r;
         INSERT INTO abide.work (no, mailbox, execution, activity, session, route, item)
         SELECT {base} + i, {base}, 3, i, 's-{base}-' || i, r.route, '{}'
         FROM generate_series(1, {rows}) AS i, (SELECT abide.work_route_of('Charge', '') AS route) AS r;",
    ),
    (
        "blocked instances and held work",
        "INSERT INTO abide.mailbox (no, id, execution, last_event, status, route, flags, ready)
         SELECT {base} + i, 'blocked-{base}-' || i, 1, 1, 'Running', r.route, 1, i
         FROM generate_series(1, {rows}) AS i, (SELECT abide.route_no('Order', '1.0.0', '', '*') * 2 + 549755813888 AS route) AS r;
         INSERT INTO abide.block (mailbox, execution, refused, kind, since, detail, build)
         SELECT {base} + i, 1, '*', 'panic', 1, '', 'b1' FROM generate_series(1, {rows}) AS i;
         INSERT INTO abide.work (no, mailbox, execution, activity, route, due_at, held_since, held_detail, held_build, item)
         SELECT {base} + i, {base} + i, 1, 2, r.route, 9223372036854775807, 1, '', 'b1', '{}'
         FROM generate_series(1, {rows}) AS i, (SELECT abide.work_route_of('Charge', '') AS route) AS r;",
    ),
];

/// The calls of a dispatcher.
const FETCHES: &[(&str, &str)] = &[
    (
        "lease instances",
        "SELECT * FROM abide.lease_instances(10, 30000, ARRAY(SELECT generate_series(1, 10))::bigint[],
            ARRAY[abide.route_no('Order', '1.0.0', '', '') * 2, abide.route_no('Order', '1.1.0', '', '') * 2], 1000000, NULL, 1, '{}', '{}')",
    ),
    (
        "lease work",
        "SELECT * FROM abide.lease_work(10, 30000, ARRAY(SELECT generate_series(1, 10))::bigint[],
            ARRAY[abide.work_route_of('Charge', ''), abide.work_route_of('Mail', '')], 1000000, NULL, 1, 'me', 30000, '{}', 7, NULL)",
    ),
    (
        "lease work, and leave what is young to others",
        "SELECT * FROM abide.lease_work(10, 30000, ARRAY(SELECT generate_series(1, 10))::bigint[],
            ARRAY[abide.work_route_of('Charge', ''), abide.work_route_of('Mail', '')], 1000000, NULL, 1, 'me', 30000, '{}', 7, 1)",
    ),
    (
        "lease instances again, in vain",
        "SELECT * FROM abide.lease_instances(10, 30000, ARRAY(SELECT generate_series(1, 10))::bigint[],
            ARRAY[abide.route_no('Order', '1.0.0', '', '') * 2, abide.route_no('Order', '1.1.0', '', '') * 2], 1000000, NULL, 1, '{}', '{}')",
    ),
    (
        "lease work again, in vain",
        "SELECT * FROM abide.lease_work(10, 30000, ARRAY(SELECT generate_series(1, 10))::bigint[],
            ARRAY[abide.work_route_of('Charge', ''), abide.work_route_of('Mail', '')], 1000000, NULL, 1, 'me', 30000, '{}', 7, NULL)",
    ),
    (
        "when time alone brings something",
        "SELECT abide.next_work_due(), (SELECT due_at FROM abide.mailbox WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1)",
    ),
];

/// Those that find something.
const FINDING: [&str; 2] = ["lease instances", "lease work"];

fn insert(database: &Database, fill: &str, place: u64, rows: u64) {
    let base = place * 10_000_000;
    database.run(&fill.replace("{rows}", &rows.to_string()).replace("{base}", &base.to_string()));
}

/// So many instances that sleep, and a tenth as many that are idle.
pub(crate) fn put_to_sleep(database: &Database, rows: u64) {
    insert(database, SLEEPING, 1, rows);
    insert(database, IDLE, 2, rows / 10);
}

/// What the server knows about its tables when it plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statistics {
    Missing,
    /// Of the tables as they are.
    Present,
    /// Of the same tables with next to nothing in them, when the plans were made that are used for everything that came since.
    Old,
}

/// The pages that each fetch looks at, behind so many rows.
fn pages(database: &Database, rows: u64, statistics: Statistics) -> Vec<i64> {
    let fill = || {
        for (place, (_, fill)) in (1_u64..).zip(BEHIND) {
            insert(database, fill, place, rows);
        }
    };
    database.empty_for_good();
    database.run(FRONT);
    if statistics != Statistics::Old {
        fill();
    }
    if statistics != Statistics::Missing {
        database.analyse();
    }
    database.run(PostgresProvider::session_settings());
    // Once before, in a transaction that is taken back: what is planned is not counted.
    for (_, fetch) in FETCHES {
        database.run(&format!("BEGIN; {fetch}; ROLLBACK"));
    }
    if statistics == Statistics::Old {
        fill();
    }
    let counted = FETCHES.iter().map(|(_, fetch)| least_pages(database, fetch)).collect();
    database.run("RESET ALL");
    counted
}

/// Does it, and says how many pages it took: the least of some tries that were taken back. A server that makes and drops other schemas
/// meanwhile may forget its plans, and making one anew reads pages, too.
fn least_pages(database: &Database, fetch: &str) -> i64 {
    let tries = (0..3).map(|_| {
        database.run("BEGIN");
        let pages = database.pages(fetch);
        database.run("ROLLBACK");
        pages
    });
    let least = tries.min().unwrap();
    database.run(fetch);
    least
}

#[test]
fn what_a_fetch_costs_does_not_depend_on_what_is_behind() {
    let Some(database) = Database::new() else { return };
    drop(database.open());
    // Plans are made anew when the server looks at a table by itself.
    database.leave_alone();
    for statistics in [Statistics::Missing, Statistics::Present, Statistics::Old] {
        let before = pages(&database, FEW, statistics);
        let after = pages(&database, many(), statistics);
        for (((what, _), few), many) in FETCHES.iter().zip(&before).zip(&after) {
            println!("{what}, {statistics:?} statistics: {few} pages, {many} pages");
            let deeper = if FINDING.contains(what) { DEEPER } else { DEEPER_IN_VAIN };
            assert!(many - few <= deeper, "{what}: {few} pages behind little, {many} behind much");
        }
    }
}
