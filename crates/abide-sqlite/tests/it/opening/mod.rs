//! Opening a database, and losing it while it is open.
//!
//! Whatever is wrong with a path has an error of its own that names the path and says what to do. A database that is
//! taken away under a running store is never written to again, until it is back.

mod folders;
mod foreign;
mod full;
mod killed;
mod lost;
mod modes;

use std::path::Path;

use abide_model::WorkItem;
use abide_provider::{Provider, ProviderError};
use abide_sqlite::{OpenError, SqliteProvider};
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::folder::url;

fn open(path: &Path) -> Result<SqliteProvider, OpenError> {
    block_on(SqliteProvider::new(&url(path), None))
}

/// Why a path cannot be opened. Every refusal names the path.
fn refusal(path: &Path) -> OpenError {
    let error = open(path).expect_err("it was opened");
    let text = error.to_string();
    println!("{text}");
    assert!(text.contains(&path.display().to_string()), "{text}");
    error
}

fn assert_says(error: &OpenError, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "'{word}' is missing: {text}");
    }
}

/// Writes something that can be found again.
fn write(store: &SqliteProvider, id: u64) -> Result<(), ProviderError> {
    let work = WorkItem::ActivityExecute {
        instance: "jobs".to_owned(),
        execution_id: 1,
        id,
        name: "job".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    };
    block_on(store.enqueue_for_worker(work))
}

/// What was written, sorted.
fn written(path: &Path) -> Vec<u64> {
    let connection = Connection::open(path).unwrap();
    let mut query = connection.prepare("SELECT DISTINCT activity FROM work ORDER BY 1").unwrap();
    let ids = query.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    ids.map(|id| u64::try_from(id.unwrap()).unwrap()).collect()
}
