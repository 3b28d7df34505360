//! A schema that another release wrote: one of version 1 is migrated, one of a newer version is worked on if its mark
//! allows this release.

mod interrupted;

use std::time::Duration;

use abide_postgres::OpenError;
use abide_provider::{LeaseInstances, Provider as _, ProviderAdmin as _};
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::start;
use crate::support::rules;

/// A schema as the release with schema version 1 left it (`crates/abide/tests/version_1/README.md`).
const VERSION_1: &str = include_str!("../../../../abide/tests/version_1/schema.sql");

/// Everything that a schema consists of: tables with their columns, indexes, functions and types.
const CONTENTS: &str = "
    SELECT 'column ' || table_name || ' ' || column_name || ' ' || data_type AS what
    FROM information_schema.columns WHERE table_schema = $1
    UNION ALL SELECT 'index ' || indexname || ' ' || indexdef FROM pg_indexes WHERE schemaname = $1
    UNION ALL
    SELECT 'function ' || p.proname || ' ' || pg_get_function_identity_arguments(p.oid) || ' ' || md5(p.prosrc)
    FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname = $1
    UNION ALL SELECT 'type ' || t.typname FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE n.nspname = $1
    ORDER BY what";

fn restore(database: &Database) {
    let schema = database.schema();
    let dump = VERSION_1.replace("CREATE SCHEMA abide;", &format!("CREATE SCHEMA {schema};"));
    database.run(&dump.replace("\"abide\".", "abide."));
    // What the dump chose for its own session.
    database.run("RESET ALL");
}

fn contents(database: &Database) -> Vec<String> {
    database.rows(CONTENTS, &[&database.schema()]).iter().map(|row| row.get(0)).collect()
}

fn histories(database: &Database) -> Vec<String> {
    let query = "SELECT events FROM abide.turn ORDER BY mailbox, execution, first_event";
    database.rows(query, &[]).iter().map(|row| row.get(0)).collect()
}

/// Everything is there, and what was under way can be had.
fn assert_migrated(database: &Database, histories_before: &[String], when: &str) {
    assert_eq!(database.number("SELECT max(number) FROM abide.migration"), 2, "{when}");
    assert_eq!(database.number("SELECT oldest FROM abide.migration WHERE number = 2"), 2, "{when}");
    assert_eq!(histories(database), histories_before, "{when}");
    // Every row has the route that it would have been given.
    let now = u64::try_from(database.number("SELECT abide.now()")).unwrap();
    assert_eq!(rules::contradictions(database, now), Vec::<String>::new(), "{when}");
    let store = database.open();
    assert_eq!(block_on(store.list_instances()).unwrap().len(), 14, "{when}");
    let mut names = Vec::new();
    let request = || LeaseInstances {
        limit: 9,
        lease_for: Duration::from_secs(30),
        wait: Duration::ZERO,
        capabilities: None,
        serving: None,
    };
    // The lease on signal-2 has run out; the timer of sleep-1 is due.
    let leased = || block_on(store.lease_instances(request())).unwrap();
    while names.len() < 4 {
        let more = leased();
        assert!(!more.is_empty(), "{when}: {names:?}");
        names.extend(more.into_iter().map(|lease| lease.instance));
    }
    names.sort();
    assert_eq!(names, ["fresh-1", "queue-1", "signal-2", "sleep-1"], "{when}");
    assert!(leased().is_empty(), "{when}");
}

#[test]
fn a_schema_of_version_1_is_migrated() {
    let Some(database) = Database::new() else { return };
    restore(&database);
    let before = histories(&database);
    drop(database.open());
    assert_migrated(&database, &before, "migrated");
    // As if it had never been a schema of version 1.
    let Some(new) = Database::new() else { return };
    drop(new.open());
    let named = |contents: Vec<String>, schema: &str| -> Vec<String> {
        contents
            .iter()
            .map(|what| what.replace(schema, "abide"))
            .filter(|what| !what.starts_with("function"))
            .collect()
    };
    assert_eq!(named(contents(&database), database.schema()), named(contents(&new), new.schema()));
}

#[test]
fn starts_of_children_are_migrated_with_who_waits_for_them() {
    let Some(database) = Database::new() else { return };
    restore(&database);
    let start = r#"{"StartOrchestration":{"parent_instance":"p","parent_id":7,"parent_execution_id":3}}"#;
    for item in [start, "damaged"] {
        database.run(&format!(
            "INSERT INTO abide.message (mailbox, class, visible_at, parent, item) VALUES (900001, 1, 9000000000000, 'p', '{item}')"
        ));
    }
    drop(database.open());
    let links =
        "SELECT coalesce(execution::text, '-') || ' ' || coalesce(event::text, '-') FROM abide.message
                 WHERE parent = 'p' ORDER BY no";
    let links: Vec<String> = database.rows(links, &[]).iter().map(|row| row.get(0)).collect();
    assert_eq!(links, ["3 7", "- -"]);
}

#[test]
fn no_schema_of_version_1_is_migrated_while_a_node_of_that_release_is_connected() {
    let Some(database) = Database::new() else { return };
    // The lock that a node holds for as long as it listens.
    let held = "SELECT l.classid::int, l.objid::int FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
                WHERE a.application_name = $1 AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted";
    let name = format!("abide {} notices", database.schema());
    let store = database.open();
    wait_until(|| !database.rows(held, &[&name]).is_empty());
    let row = database.rows(held, &[&name]).remove(0);
    let (class, number): (i32, i32) = (row.get(0), row.get(1));
    drop(store);
    wait_until(|| database.rows(held, &[&name]).is_empty());
    database.run(&format!("DROP SCHEMA {} CASCADE", database.schema()));
    restore(&database);
    let (before, histories_before) = (contents(&database), histories(&database));

    database.run("SET application_name = 'shop notices'");
    database.rows("SELECT pg_advisory_lock_shared($1, $2)::text", &[&class, &number]);
    let error = block_on(database.builder().open()).unwrap_err();
    let OpenError::OlderNodes { found: 1, known: 2, nodes, .. } = &error else { panic!("{error:?}") };
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    let text = error.to_string();
    for words in ["shop notices (process ", "stop ", "left untouched"] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(contents(&database), before);

    database.rows("SELECT pg_advisory_unlock_shared($1, $2)", &[&class, &number]);
    drop(database.open());
    assert_migrated(&database, &histories_before, "when that node has ended");
}

/// A schema that the next release has migrated, with this as its mark.
fn newer(database: &Database, mark: &str) {
    drop(database.open());
    database.run(&format!("INSERT INTO abide.migration (number, oldest) VALUES (3, {mark})"));
    database.run("ALTER TABLE abide.mailbox ADD COLUMN of_version_3 bigint");
}

#[test]
fn a_newer_schema_is_worked_on_if_its_mark_allows_this_release() {
    let Some(database) = Database::new() else { return };
    newer(&database, "2");
    for _ in 0..2 {
        let store = database.open();
        block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
    }
    assert_eq!(database.number("SELECT count(*) FROM abide.message"), 2);
    assert_eq!(database.number("SELECT max(number) FROM abide.migration"), 3);
}

#[test]
fn a_newer_schema_is_refused_if_its_mark_does_not() {
    for (mark, expected) in [("3", Some(3)), ("NULL", None)] {
        let Some(database) = Database::new() else { return };
        newer(&database, mark);
        let error = block_on(database.builder().open()).unwrap_err();
        let OpenError::NewerSchema { found: 3, known: 2, oldest, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*oldest, expected, "{mark}");
        assert!(error.to_string().contains("use that release or a newer one"), "{error}");
    }
}
