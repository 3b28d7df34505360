//! Importing files that duroxide 0.1.32 wrote (`tests/duroxide-files`). That what is imported continues and
//! ends right is shown in the tests of `abide`, which have a runtime.

mod meanwhile;
mod refused;
mod resumed;
mod taken_over;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use abide_sqlite::{ImportError, ImportOutcome, ImportReport, SqliteProvider, import_duroxide};
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::clock::ManualClock;
use crate::support::dump::read_dump;
use crate::support::folder::{Folder, beside};
use crate::support::rules::contradictions;

/// Some seconds after the sample files were made: their timers are not due yet.
fn recorded_at() -> u64 {
    let sample = Folder::new("time");
    let path = copy_of(&sample, "everything.db");
    let last: i64 = Connection::open(path)
        .unwrap()
        .query_row("SELECT max(visible_at) FROM orchestrator_queue WHERE lock_token IS NULL AND visible_at < 2000000000000", [], |row| row.get(0))
        .unwrap();
    u64::try_from(last).unwrap() - 30_000
}

fn copy_of(folder: &Folder, name: &str) -> PathBuf {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/duroxide-files/files");
    for suffix in ["", "-wal"] {
        let sample = beside(&samples.join(name), suffix);
        if sample.exists() {
            fs::copy(sample, beside(&folder.file(name), suffix)).unwrap();
        }
    }
    folder.file(name)
}

/// A store that knows what time it is.
struct Target {
    provider: SqliteProvider,
    clock: ManualClock,
}

impl Target {
    fn at(path: &str, now: u64) -> Self {
        let clock = ManualClock::at(now);
        let builder = SqliteProvider::builder(path).clock(Arc::new(clock.clone()));
        Self { provider: block_on(builder.open()).unwrap(), clock }
    }

    fn in_memory() -> Self {
        Self::at("sqlite::memory:", recorded_at())
    }

    fn import(&self, from: &Path) -> Result<ImportReport, ImportError> {
        block_on(import_duroxide(from.to_str().unwrap(), &self.provider))
    }

    /// Everything the store holds, as text. Contradictions are found as well.
    fn contents(&self) -> String {
        let now = self.clock.now_ms();
        let looked = self.provider.inspect(move |connection| {
            let broken = contradictions(connection, now).unwrap();
            assert!(broken.is_empty(), "{broken:#?}");
            format!("{:#?}", read_dump(connection, now).unwrap())
        });
        block_on(looked).unwrap()
    }

    fn tables(&self) -> Vec<String> {
        let looked = self.provider.inspect(|connection| {
            let mut statement = connection.prepare("SELECT name FROM sqlite_schema ORDER BY name").unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
        });
        block_on(looked).unwrap()
    }

    fn rows(&self, query: &'static str) -> Vec<Vec<rusqlite::types::Value>> {
        block_on(self.provider.inspect(move |connection| rows_of(connection, query))).unwrap()
    }
}

fn rows_of(connection: &Connection, query: &str) -> Vec<Vec<rusqlite::types::Value>> {
    let mut statement = connection.prepare(query).unwrap();
    let columns = statement.column_count();
    let read = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
    statement.query_map([], read).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// The names and bytes of everything in a folder.
fn bytes_in(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    folder.names().into_iter().map(|name| (name.clone(), fs::read(folder.file(&name)).unwrap())).collect()
}

/// The import was refused and has changed neither the source nor the store.
fn refusal(folder: &Folder, path: &Path) -> ImportError {
    let target = Target::in_memory();
    let (before, contents, tables) = (bytes_in(folder), target.contents(), target.tables());
    let error = target.import(path).unwrap_err();
    assert!(bytes_in(folder) == before, "the source was changed: {:?}", folder.names());
    assert_eq!(target.contents(), contents, "something was written");
    assert_eq!(target.tables(), tables, "something was written");
    let text = error.to_string();
    assert!(text.len() < 1_500, "people read this: {text}");
    error
}

fn change(path: &Path, statements: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(statements).unwrap();
    // The samples are small; without a log beside them they are one file.
    connection.pragma_update(None, "wal_checkpoint", "truncate").unwrap();
}

fn assert_imported(report: &ImportReport) {
    assert_eq!(report.outcome, ImportOutcome::Imported);
    assert!(report.is_clean());
}
