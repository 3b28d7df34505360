//! What must hold in the tables at any moment, while everybody is at work.

use abide_model::Clock as _;
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use rusqlite::{Connection, Result};

use super::crowd::SteadyClock;
use crate::support::rules;

/// Each query finds rows that break the rule.
const RULES: [(&str, &str); 10] = [
    ("no mail of the deleted", "SELECT item FROM message WHERE mailbox NOT IN (SELECT no FROM mailbox)"),
    ("no work of the deleted", "SELECT item FROM work WHERE mailbox NOT IN (SELECT no FROM mailbox)"),
    ("no turns of the deleted", "SELECT events FROM turn WHERE mailbox NOT IN (SELECT no FROM mailbox)"),
    (
        "no executions of the deleted",
        "SELECT status FROM execution WHERE mailbox NOT IN (SELECT no FROM mailbox)",
    ),
    ("no values of the deleted", "SELECT key FROM kv_store WHERE mailbox NOT IN (SELECT no FROM mailbox)"),
    (
        "no new values of the deleted",
        "SELECT key FROM kv_delta WHERE mailbox NOT IN (SELECT no FROM mailbox)",
    ),
    (
        "no custom status of the deleted",
        "SELECT value FROM custom_status WHERE mailbox NOT IN (SELECT no FROM mailbox)",
    ),
    (
        "a child has a parent",
        "SELECT id FROM mailbox WHERE execution > 0 AND parent IS NOT NULL
         AND parent NOT IN (SELECT id FROM mailbox WHERE execution > 0)",
    ),
    (
        "a child to be born has a parent",
        "SELECT item FROM message WHERE parent IS NOT NULL
         AND parent NOT IN (SELECT id FROM mailbox WHERE execution > 0)",
    ),
    (
        "an execution that is not the current one has ended",
        "SELECT m.id FROM execution AS e JOIN mailbox AS m ON m.no = e.mailbox
         WHERE e.no <> m.execution AND (e.no > m.execution OR e.status = 'Running')",
    ),
];

/// Looks at everything once, between two transactions.
pub(crate) fn pass(store: &SqliteProvider, clock: &SteadyClock) {
    let now = clock.wall().as_millis();
    let looked = block_on(store.inspect(move |connection| broken(connection, now)));
    let broken = looked.expect("the writer is alive").unwrap();
    assert!(broken.is_empty(), "{broken:#?}");
}

fn broken(connection: &Connection, now: u64) -> Result<Vec<String>> {
    let mut found = rules::contradictions(connection, now)?;
    for (rule, query) in RULES {
        let mut statement = connection.prepare_cached(query)?;
        let rows = statement.query_map([], |row| row.get::<_, Option<String>>(0))?;
        let rows = rows.collect::<Result<Vec<_>>>()?;
        if !rows.is_empty() {
            found.push(format!("{rule}, but {rows:?}"));
        }
    }
    Ok(found)
}

/// Whether SQLite finds its file in order.
pub(crate) fn integrity(store: &SqliteProvider) -> String {
    let checked = block_on(store.inspect(|connection| {
        connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0))
    }));
    checked.expect("the writer is alive").unwrap()
}
