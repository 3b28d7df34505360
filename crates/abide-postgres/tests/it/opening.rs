//! Opening a store: whose schema it is, what is refused, and many nodes at once.

use std::time::Duration;

use abide_postgres::{OpenError, PostgresProvider};
use abide_provider::Provider;
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::start;

fn open(url: &str) -> Result<PostgresProvider, OpenError> {
    block_on(PostgresProvider::new(url))
}

#[test]
fn what_is_no_url_is_refused_with_what_would_be_one() {
    for url in [
        "",
        "data.db",
        "sqlite:./data.db",
        "mysql://me:secret@host/db",
        "postgres://me:secret@host:port/db",
        // What it says about encryption would be lost.
        "host=db user=me password=secret sslmode=require",
        "postgres://me:se?secret@host/db?sslmode=require",
    ] {
        let error = open(url).unwrap_err();
        assert!(matches!(error, OpenError::Url { .. }), "{url}: {error:?}");
        let text = error.to_string();
        assert!(text.contains("postgres://user:password@host:5432/database"), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let builder = || PostgresProvider::builder("postgres://me:secret@localhost/db");
    let refused = |opened: Result<PostgresProvider, OpenError>| opened.unwrap_err().to_string();
    assert!(refused(block_on(builder().connections(0).open())).contains("connections cannot be 0"));
    assert!(
        refused(block_on(builder().safety_poll(Duration::ZERO).open())).contains("safety_poll cannot be 0")
    );
    assert!(
        refused(block_on(builder().schema("no schema").open()))
            .contains("'no schema' cannot be the name of a schema")
    );
    let ssl = "postgres://me:secret@localhost/db?sslmode=maybe";
    assert!(refused(open(ssl)).contains("sslmode cannot be maybe"), "{}", refused(open(ssl)));
    let root = "postgres://me:secret@localhost/db?sslmode=verify-full&sslrootcert=/no/such/file";
    assert!(refused(open(root)).contains("/no/such/file"), "{}", refused(open(root)));
}

#[test]
fn a_server_that_is_not_there_is_named_in_one_sentence() {
    // A port that nobody listens on: one that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let error = open(&format!("postgres://me:secret@127.0.0.1:{port}/db")).unwrap_err();
    assert!(matches!(error, OpenError::Connect { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&format!("127.0.0.1:{port}/db")) && text.contains("refused"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn a_host_that_is_silent_does_not_keep_from_the_next_one() {
    let Some(database) = Database::new() else { return };
    // Its system takes connections, and nobody ever says a word on them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap();
    let url = database.url().replacen('@', &format!("@{silent},"), 1);
    assert_ne!(url, database.url(), "both hosts are named");
    let url = format!("{url}{}connect_timeout=1", if url.contains('?') { '&' } else { '?' });
    let store = open(&url).unwrap();
    block_on(store.enqueue_for_orchestrator(start("i"), None)).unwrap();
}

#[test]
fn a_password_that_is_wrong_is_said_to_be() {
    let Some(database) = Database::new() else { return };
    let (scheme_and_user, rest) = database
        .url()
        .split_once(':')
        .and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?.1)))
        .unwrap();
    let error = open(&format!("{scheme_and_user}://postgres:wrong@{rest}")).unwrap_err().to_string();
    assert!(error.contains("28P01") && !error.contains("wrong@"), "{error}");
}

#[test]
fn a_schema_that_holds_something_else_is_left_untouched() {
    let Some(database) = Database::new() else { return };
    database.run(&format!("CREATE SCHEMA {0}; CREATE TABLE {0}.customers (id int)", database.schema()));
    let error = block_on(database.builder().open()).unwrap_err();
    assert!(matches!(&error, OpenError::Foreign { found, .. } if found == "customers"), "{error}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = $1";
    assert_eq!(database.rows(tables, &[&database.schema()])[0].get::<_, i64>(0), 1);
}

#[test]
fn a_table_of_another_tool_that_is_called_like_ours_is_foreign() {
    for table in ["(version text)", "(number int)", "(number bigint)"] {
        let Some(database) = Database::new() else { return };
        database.run(&format!("CREATE SCHEMA {0}; CREATE TABLE {0}.migration {table}", database.schema()));
        let error = block_on(database.builder().open()).unwrap_err();
        assert!(
            matches!(&error, OpenError::Foreign { found, .. } if found == "migration"),
            "{table}: {error}"
        );
    }
}

#[test]
fn an_empty_schema_that_somebody_made_is_used() {
    let Some(database) = Database::new() else { return };
    database.run(&format!("CREATE SCHEMA {}", database.schema()));
    assert_eq!(database.open().schema(), database.schema());
}

#[test]
fn a_newer_schema_is_refused_and_left_untouched() {
    let Some(database) = Database::new() else { return };
    drop(database.open());
    database.run("INSERT INTO abide.migration (number) VALUES (99)");
    let error = block_on(database.builder().open()).unwrap_err();
    assert!(matches!(error, OpenError::NewerSchema { found: 99, known: 2, .. }), "{error}");
}

#[test]
fn a_migration_that_fails_leaves_nothing_behind() {
    let Some(database) = Database::new() else { return };
    // A type of ours is there already, which is no table: the migration finds out half-way.
    database.run(&format!("CREATE SCHEMA {0}; CREATE TYPE {0}.numbered AS (x int)", database.schema()));
    let error = block_on(database.builder().open()).unwrap_err();
    assert!(matches!(error, OpenError::Migration { .. }), "{error}");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = $1";
    assert_eq!(database.rows(tables, &[&database.schema()])[0].get::<_, i64>(0), 0);
}

#[test]
fn whoever_brings_the_schema_up_to_date_is_waited_for_longer_than_any_other_lock() {
    let Some(database) = Database::new() else { return };
    let lock = format!("abide:{}", database.schema());
    database.rows("SELECT pg_advisory_lock(hashtextextended($1, 0))::text", &[&lock]);
    let name = format!("abide {} opening", database.schema());
    // Five seconds are what every other wait for a lock may take.
    let has_waited = "SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
                      WHERE a.application_name = $1 AND l.waitstart < clock_timestamp() - interval '5500 ms'";
    let opened = std::thread::scope(|scope| {
        let opening = scope.spawn(|| block_on(database.builder().open()));
        wait_until(|| opening.is_finished() || database.rows(has_waited, &[&name])[0].get::<_, i64>(0) == 1);
        database.rows("SELECT pg_advisory_unlock(hashtextextended($1, 0))::text", &[&lock]);
        opening.join().expect("no panic")
    });
    assert_eq!(opened.expect("it waited").schema(), database.schema());
}

#[test]
fn a_connection_that_ends_while_the_schema_is_made_is_made_again() {
    let Some(database) = Database::new() else { return };
    let lock = format!("abide:{}", database.schema());
    database.rows("SELECT pg_advisory_lock(hashtextextended($1, 0))::text", &[&lock]);
    let name = format!("abide {} opening", database.schema());
    let end_waiting =
        "SELECT pg_terminate_backend(pid) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
                       WHERE a.application_name = $1 AND NOT l.granted";
    let opened = std::thread::scope(|scope| {
        let opening = scope.spawn(|| block_on(database.builder().open()));
        for _ in 0..3 {
            wait_until(|| opening.is_finished() || !database.rows(end_waiting, &[&name]).is_empty());
        }
        database.rows("SELECT pg_advisory_unlock(hashtextextended($1, 0))::text", &[&lock]);
        opening.join().expect("no panic")
    });
    assert_eq!(opened.expect("it was begun anew").schema(), database.schema());
}

#[test]
fn a_database_that_cannot_hold_every_text_is_refused() {
    let Some(database) = Database::new() else { return };
    let name = database.schema();
    database.run(&format!(
        "CREATE DATABASE {name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    ));
    let (server, _) = database.url().rsplit_once('/').unwrap();
    let refused = open(&format!("{server}/{name}")).unwrap_err();
    database.run(&format!("DROP DATABASE {name}"));
    assert!(matches!(&refused, OpenError::Encoding { found } if found == "LATIN1"), "{refused}");
}

#[test]
fn many_that_open_at_once_find_one_schema_and_all_work() {
    let Some(database) = Database::new() else { return };
    let stores: Vec<PostgresProvider> = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..16).map(|_| scope.spawn(|| database.open())).collect();
        opening.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for (number, store) in stores.iter().enumerate() {
        block_on(store.enqueue_for_orchestrator(start(&format!("i{number}")), None)).unwrap();
    }
    assert_eq!(database.number("SELECT count(*) FROM abide.migration"), 2);
    assert_eq!(database.number("SELECT count(*) FROM abide.message"), 16);
}

#[test]
fn two_schemas_of_one_database_know_nothing_of_each_other() {
    let (Some(one), Some(other)) = (Database::new(), Database::new()) else { return };
    let (first, second) = (one.open(), other.open());
    block_on(first.enqueue_for_orchestrator(start("a"), None)).unwrap();
    let fetched =
        block_on(second.fetch_orchestration_item(Duration::from_secs(1), Duration::ZERO, None)).unwrap();
    assert!(fetched.is_none());
    assert_eq!(other.number("SELECT count(*) FROM abide.message"), 0);
    assert_eq!(one.number("SELECT count(*) FROM abide.message"), 1);
}
