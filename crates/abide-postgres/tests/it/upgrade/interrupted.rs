//! A migration that ends at any of its statements: with an error, with its session, or with its process.
//!
//! A brake counts the statements: definitions by an event trigger, changes of rows by triggers on the tables
//! of version 1. It is in a server of the test alone, because it affects every session.

use abide_postgres::OpenError;
use abide_throwaway::{Server, Settings, own};
use futures::executor::block_on;

use super::{assert_migrated, contents, histories, restore};
use crate::support::database::{Database, wait_until};
use crate::support::process::{Process, told};

/// The tables of version 1 of which the migration changes rows.
const CHANGED: [&str; 4] = ["message", "work", "mailbox", "migration"];

/// Counts the statements of a transaction, and stops at one.
const BRAKE: &str = "
    CREATE SCHEMA brake;
    CREATE TABLE brake.setting (stop_at int, how text);
    INSERT INTO brake.setting VALUES (0, 'end');
    CREATE SEQUENCE brake.reached;
    CREATE SEQUENCE brake.last;
    CREATE FUNCTION brake.count() RETURNS void LANGUAGE plpgsql AS $$
    DECLARE
        v_count int := coalesce(nullif(current_setting('brake.count', true), ''), '0')::int + 1;
        v_how text;
    BEGIN
        PERFORM set_config('brake.count', v_count::text, true);
        PERFORM setval('brake.last', greatest(v_count, (SELECT l.last_value FROM brake.last AS l)));
        SELECT s.how INTO v_how FROM brake.setting AS s WHERE s.stop_at = v_count;
        IF NOT FOUND THEN
            RETURN;
        ELSIF v_how = 'hold' THEN
            PERFORM nextval('brake.reached');
            WHILE EXISTS (SELECT FROM brake.setting AS s WHERE s.how = 'hold') LOOP
                PERFORM pg_sleep(0.01);
            END LOOP;
        ELSIF nextval('brake.reached') = 1 THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
        ELSIF v_how <> 'end' THEN
            RAISE EXCEPTION 'stopped at statement %', v_count;
        END IF;
    END $$;
    CREATE FUNCTION brake.definition() RETURNS event_trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM brake.count(); END $$;
    CREATE FUNCTION brake.change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM brake.count(); RETURN NULL; END $$;
    CREATE EVENT TRIGGER brake ON ddl_command_start EXECUTE FUNCTION brake.definition();";

/// What happens at the statement at which the migration stops.
#[derive(Debug, Clone, Copy)]
enum Stop {
    /// The session ends; the next one fails there.
    EndThenRaise,
    /// The session ends; the next one passes.
    End,
    /// It waits.
    Hold,
}

impl Stop {
    const fn name(self) -> &'static str {
        match self {
            Self::EndThenRaise => "end, then raise",
            Self::End => "end",
            Self::Hold => "hold",
        }
    }
}

/// A schema of version 1 on a server with the brake.
fn restored(server: &Server) -> Database {
    let database = Database::at(server.url());
    let is_new = database.rows("SELECT FROM pg_namespace WHERE nspname = 'brake'", &[]).is_empty();
    if is_new {
        database.run(BRAKE);
    }
    stop_nowhere(&database);
    restore(&database);
    for table in CHANGED {
        database.run(&format!(
            "CREATE TRIGGER brake BEFORE INSERT OR UPDATE OR DELETE ON abide.{table}
             FOR EACH STATEMENT EXECUTE FUNCTION brake.change()"
        ));
    }
    database
}

fn stop_at(database: &Database, statement: i32, stop: Stop) {
    database.rows("SELECT setval('brake.reached', 1, false)", &[]);
    database.rows("UPDATE brake.setting SET stop_at = $1, how = $2", &[&statement, &stop.name()]);
}

fn stop_nowhere(database: &Database) {
    stop_at(database, 0, Stop::End);
}

fn is_reached(database: &Database) -> bool {
    database.number("SELECT is_called::int::bigint FROM brake.reached") == 1
}

/// Opens the schema; false if the brake stopped the migration with an error.
fn is_migrated(database: &Database) -> bool {
    match block_on(database.builder().open()) {
        Ok(_) => true,
        Err(OpenError::Migration { reason, .. }) if reason.contains("stopped at") => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_migration_that_ends_at_any_statement_leaves_nothing_behind() {
    let Some(server) = own(&Settings::common()).unwrap() else { return };
    let database = restored(&server);
    let (histories_before, before) = (histories(&database), contents(&database));
    let assert_untouched = |when: &str| {
        assert_eq!(contents(&database), before, "{when}");
        assert_eq!(database.number("SELECT max(number) FROM abide.migration"), 1, "{when}");
        assert_eq!(histories(&database), histories_before, "{when}");
    };
    // The last one is found by a search, so that nothing here depends on what the migration consists of.
    let mut stopped = 0;
    loop {
        stop_at(&database, stopped + 1, Stop::EndThenRaise);
        if is_migrated(&database) {
            break;
        }
        stopped += 1;
        assert!(is_reached(&database));
        assert_untouched(&format!("ended at statement {stopped}"));
    }
    assert!(stopped > 80, "there is a statement for every function and for the rows: {stopped}");
    stop_nowhere(&database);
    assert_migrated(&database, &histories_before, "after it was ended everywhere");

    // A session that ends in the middle of it is replaced, and the migration is done at once.
    for statement in [1, stopped / 2, stopped] {
        let database = restored(&server);
        stop_at(&database, statement, Stop::End);
        drop(database.open());
        assert!(is_reached(&database), "the session ended at statement {statement}");
        assert_migrated(&database, &histories_before, &format!("ended at statement {statement}"));
    }
}

const CHILD: &str = "upgrade::interrupted::child_that_migrates";

#[test]
#[ignore = "a part of the test below, in a process of its own"]
fn child_that_migrates() {
    let Some((url, schema)) = told(CHILD) else { return };
    drop(block_on(abide_postgres::PostgresProvider::builder(&url).schema(&schema).open()));
}

#[test]
fn a_process_that_is_killed_while_it_migrates_leaves_nothing_behind() {
    let Some(server) = own(&Settings::common()).unwrap() else { return };
    let database = restored(&server);
    database.rows("SELECT setval('brake.last', 1)", &[]);
    drop(database.open());
    let last = i32::try_from(database.number("SELECT last_value FROM brake.last")).unwrap();
    assert!(last > 80, "{last}");
    for statement in [1, last / 2, last] {
        let database = restored(&server);
        let (histories_before, before) = (histories(&database), contents(&database));
        stop_at(&database, statement, Stop::Hold);
        let process = Process::start(CHILD, database.url(), database.schema());
        wait_until(|| is_reached(&database));
        // Sends SIGKILL.
        drop(process);
        stop_nowhere(&database);
        let sessions = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1)";
        let name = format!("abide {} ", database.schema());
        wait_until(|| database.rows(sessions, &[&name])[0].get::<_, i64>(0) == 0);
        let when = format!("killed at statement {statement}");
        assert_eq!(contents(&database), before, "{when}");
        assert_eq!(database.number("SELECT max(number) FROM abide.migration"), 1, "{when}");
        drop(database.open());
        assert_migrated(&database, &histories_before, &when);
    }
}
