//! A URL with several hosts, of which one takes no writes.

use abide_postgres::PostgresProvider;
use abide_provider::Provider as _;
use abide_throwaway::{Server, Settings, own};
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::start;

/// A server with a user that the other one has, too.
fn server() -> Option<(Server, Database)> {
    let server = own(&Settings::common().set("log_connections", "on")).unwrap()?;
    let database = Database::at(server.url());
    database.run("CREATE ROLE app LOGIN SUPERUSER PASSWORD 'secret'");
    Some((server, database))
}

/// Both servers in one URL.
fn both(first: &Database, second: &Database) -> String {
    let place = |database: &Database| {
        let (_, place) = database.url().split_once('@').unwrap();
        place.split_once('/').unwrap().0.to_owned()
    };
    format!("postgres://app:secret@{},{}/postgres", place(first), place(second))
}

/// From now on the server takes no writes, as one that was demoted.
fn demote(database: &Database) {
    database.run("ALTER SYSTEM SET default_transaction_read_only = on");
    database.run("SELECT pg_reload_conf()");
    let is_so = "SELECT FROM pg_settings WHERE name = 'default_transaction_read_only' AND setting = 'on'";
    wait_until(|| !database.rows(is_so, &[]).is_empty());
}

fn promote(database: &Database) {
    database.run("SET default_transaction_read_only = off");
    database.run("ALTER SYSTEM RESET default_transaction_read_only");
    database.run("SELECT pg_reload_conf()");
}

fn sessions(database: &Database, schema: &str) -> std::collections::BTreeSet<i32> {
    let query = "SELECT pid FROM pg_stat_activity WHERE starts_with(application_name, $1)";
    database.rows(query, &[&format!("abide {schema} ")]).iter().map(|row| row.get(0)).collect()
}

#[test]
fn a_first_host_that_takes_no_writes_is_passed_over() {
    let (Some((_first_server, first)), Some((_second_server, second))) = (server(), server()) else { return };
    demote(&first);
    let builder = PostgresProvider::builder(&both(&first, &second)).schema(second.schema());
    let store = block_on(builder.open()).unwrap();
    block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
    assert_eq!(second.number("SELECT count(*) FROM abide.message"), 1);
    promote(&first);
}

#[test]
fn a_first_host_that_was_demoted_is_left_and_not_connected_to_again() {
    let (Some((first_server, first)), Some((_second_server, second))) = (server(), server()) else { return };
    // As if the second one were a copy of the first.
    let schema = second.schema();
    drop(second.open());
    let builder = PostgresProvider::builder(&both(&first, &second)).schema(schema);
    let store = block_on(builder.open()).unwrap();
    block_on(store.enqueue_for_orchestrator(start("before"), None)).unwrap();
    assert_eq!(second.number("SELECT count(*) FROM abide.message"), 0, "the first one was writable");

    demote(&first);
    wait_until(|| block_on(store.enqueue_for_orchestrator(start("after"), None)).is_ok());
    assert_eq!(second.number("SELECT count(*) FROM abide.message"), 1);

    // What has nothing to write does not notice a demotion before its session ends.
    let on_first = sessions(&first, schema);
    if !on_first.is_empty() {
        first.cut(&on_first);
    }
    let has_moved = || sessions(&first, schema).is_empty() && sessions(&second, schema).len() >= 3;
    wait_until(|| has_moved() && store.is_listening());
    let attempts = || first_server.log().unwrap().matches("connection received").count();
    let before = attempts();
    let lost = sessions(&second, schema);
    second.cut(&lost);
    wait_until(|| block_on(store.enqueue_for_orchestrator(start("later"), None)).is_ok());
    wait_until(|| {
        let back = sessions(&second, schema);
        back.is_disjoint(&lost) && back.len() >= 3 && store.is_listening()
    });
    assert_eq!(attempts(), before, "the second host takes writes: nothing asks the first one");
    promote(&first);
    first.run(&format!("DROP SCHEMA {schema} CASCADE"));
}
