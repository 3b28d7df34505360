//! The order in which the store did things, told by the store itself.
//!
//! Triggers on the writer's connection note every row that comes, changes hands or goes. They are temporary: they run in the
//! same transactions as what they note, are rolled back with it, and leave the file as it is. There is one writer, so what
//! they note is the order of everything.

use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use rusqlite::{Connection, Result};

use super::crowd::all_names;

/// Something that was done to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Noted {
    Turn {
        mailbox: i64,
        execution: i64,
        first_event: i64,
    },
    /// The end of a commit.
    Progress {
        mailbox: i64,
        at: i64,
    },
    Lease {
        nonce: i64,
        until: i64,
    },
    Release {
        nonce: i64,
    },
    WorkLease {
        nonce: i64,
        until: i64,
    },
    WorkRelease {
        nonce: i64,
    },
    WorkGone {
        nonce: Option<i64>,
    },
    Message {
        item: String,
    },
    TurnGone,
    ExecutionGone {
        mailbox: i64,
        execution: i64,
    },
    MailboxGone {
        mailbox: i64,
        id: String,
    },
    /// The last that is done for everything deleted at once, name by name.
    DeadLetterGone,
}

const TRIGGERS: &str = "
    CREATE TEMP TABLE noted (no INTEGER PRIMARY KEY, what TEXT, a INTEGER, b INTEGER, c INTEGER, said TEXT);
    CREATE TEMP TRIGGER turn_comes AFTER INSERT ON main.turn BEGIN
        INSERT INTO noted (what, a, b, c) VALUES ('turn', NEW.mailbox, NEW.execution, NEW.first_event); END;
    CREATE TEMP TRIGGER commit_ends AFTER UPDATE OF updated_at ON main.mailbox BEGIN
        INSERT INTO noted (what, a, b) VALUES ('progress', NEW.no, NEW.updated_at); END;
    CREATE TEMP TRIGGER lease_begins AFTER UPDATE OF lease ON main.mailbox WHEN NEW.lease IS NOT NULL BEGIN
        INSERT INTO noted (what, a, b) VALUES ('lease', NEW.lease, NEW.leased_until); END;
    CREATE TEMP TRIGGER lease_ends AFTER UPDATE OF lease ON main.mailbox
        WHEN NEW.lease IS NULL AND OLD.lease IS NOT NULL BEGIN
        INSERT INTO noted (what, a) VALUES ('release', OLD.lease); END;
    CREATE TEMP TRIGGER work_lease_begins AFTER UPDATE OF lease ON main.work WHEN NEW.lease IS NOT NULL BEGIN
        INSERT INTO noted (what, a, b) VALUES ('work lease', NEW.lease, NEW.leased_until); END;
    CREATE TEMP TRIGGER work_lease_ends AFTER UPDATE OF lease ON main.work
        WHEN NEW.lease IS NULL AND OLD.lease IS NOT NULL BEGIN
        INSERT INTO noted (what, a) VALUES ('work release', OLD.lease); END;
    CREATE TEMP TRIGGER work_goes AFTER DELETE ON main.work BEGIN
        INSERT INTO noted (what, a) VALUES ('work gone', OLD.lease); END;
    CREATE TEMP TRIGGER message_comes AFTER INSERT ON main.message BEGIN
        INSERT INTO noted (what, said) VALUES ('message', NEW.item); END;
    CREATE TEMP TRIGGER turn_goes AFTER DELETE ON main.turn BEGIN
        INSERT INTO noted (what) VALUES ('turn gone'); END;
    CREATE TEMP TRIGGER execution_goes AFTER DELETE ON main.execution BEGIN
        INSERT INTO noted (what, a, b) VALUES ('execution gone', OLD.mailbox, OLD.no); END;
    CREATE TEMP TRIGGER mailbox_goes AFTER DELETE ON main.mailbox BEGIN
        INSERT INTO noted (what, a, said) VALUES ('mailbox gone', OLD.no, OLD.id); END;
    CREATE TEMP TRIGGER dead_letter_goes AFTER DELETE ON main.dead_letter BEGIN
        INSERT INTO noted (what) VALUES ('dead letter gone');
        INSERT INTO dead_letter (queue, instance, attempts, dead_at, item)
        VALUES (OLD.queue, OLD.instance, OLD.attempts, OLD.dead_at, OLD.item); END;
";

/// Everybody has a dead letter, which comes again as soon as it is deleted: so every deletion leaves a trace at its end.
const DEAD_LETTER: &str =
    "INSERT INTO dead_letter (queue, instance, attempts, dead_at, item) VALUES ('instances', ?1, 11, 0, '{')";

/// From now on everything is noted.
pub(crate) fn begin(store: &SqliteProvider) {
    let begun = block_on(store.inspect(|connection| {
        for name in all_names() {
            connection.execute(DEAD_LETTER, [name])?;
        }
        connection.execute_batch(TRIGGERS)
    }));
    begun.expect("the writer is alive").unwrap();
}

/// Everything that was noted, in its order.
pub(crate) fn read(store: &SqliteProvider) -> Vec<Noted> {
    block_on(store.inspect(read_all)).expect("the writer is alive").unwrap()
}

fn read_all(connection: &Connection) -> Result<Vec<Noted>> {
    let mut statement = connection.prepare("SELECT what, a, b, c, said FROM noted ORDER BY no")?;
    let rows = statement.query_map([], |row| {
        let number = |column: usize| row.get::<_, i64>(column);
        let what: String = row.get(0)?;
        Ok(match what.as_str() {
            "turn" => Noted::Turn { mailbox: number(1)?, execution: number(2)?, first_event: number(3)? },
            "progress" => Noted::Progress { mailbox: number(1)?, at: number(2)? },
            "lease" => Noted::Lease { nonce: number(1)?, until: number(2)? },
            "release" => Noted::Release { nonce: number(1)? },
            "work lease" => Noted::WorkLease { nonce: number(1)?, until: number(2)? },
            "work release" => Noted::WorkRelease { nonce: number(1)? },
            "work gone" => Noted::WorkGone { nonce: row.get(1)? },
            "message" => Noted::Message { item: row.get(4)? },
            "turn gone" => Noted::TurnGone,
            "execution gone" => Noted::ExecutionGone { mailbox: number(1)?, execution: number(2)? },
            "mailbox gone" => Noted::MailboxGone { mailbox: number(1)?, id: row.get(4)? },
            _ => Noted::DeadLetterGone,
        })
    })?;
    rows.collect()
}
