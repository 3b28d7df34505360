//! What the file allows when there is nothing else to do.

use std::time::Duration;

use serde_json::{Value, json};

use crate::store::Fallible;
use crate::store::file::{StoreFile, WalGauge};
use crate::store::groups::commit_groups;
use crate::store::history::USUAL_CHECKPOINT;
use crate::store::traffic::GROUP;

pub(crate) fn measure(span: Duration) -> Fallible<Vec<Value>> {
    Ok(vec![appended("bare commit", 1, span)?, appended("ceiling", GROUP, span)?])
}

/// Appends rows of 200 bytes, so many to a commit.
fn appended(what: &str, size: u64, span: Duration) -> Fallible<Value> {
    let file = StoreFile::create("log", "CREATE TABLE log (data TEXT NOT NULL) STRICT")?;
    let mut connection = file.connect()?;
    WalGauge::attach(&mut connection, Some(USUAL_CHECKPOINT))?;
    let data = "x".repeat(200);
    let mut insert = connection.prepare("INSERT INTO log (data) VALUES (?1)")?;
    let turn = || Ok(insert.execute([&data]).map(drop)?);
    let mut line = commit_groups(&connection, size, span, turn, || Ok(()))?.to_json();
    line["bench"] = json!("commits");
    line["what"] = json!(what);
    line["rows_per_commit"] = json!(size);
    Ok(line)
}
