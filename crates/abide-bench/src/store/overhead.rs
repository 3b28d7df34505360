//! What a savepoint costs, and a look into the statement cache.

use std::time::Duration;

use serde_json::{Value, json};

use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times, micros_per};
use crate::store::file::{StoreFile, WalGauge};
use crate::store::history::USUAL_CHECKPOINT;
use crate::store::schema::{APPENDED_TURNS, Writer};
use crate::store::traffic::{GROUP, Texts, Traffic};

/// Rows of each round that tells a held statement from a cached one.
const ROWS: i64 = 20_000;
const ROUNDS: usize = 15;

pub(crate) fn measure(
    preloaded: &(StoreFile, Traffic),
    texts: &Texts,
    span: Duration,
) -> Fallible<Vec<Value>> {
    Ok(vec![savepoints(preloaded, texts, span)?, statements()?])
}

/// A savepoint around each turn, or none: every other group, so that noise hits both alike. The commit is left out.
fn savepoints((file, traffic): &(StoreFile, Traffic), texts: &Texts, span: Duration) -> Fallible<Value> {
    let (file, mut traffic) = (file.copy("savepoints")?, traffic.clone());
    let mut connection = file.connect()?;
    WalGauge::attach(&mut connection, Some(USUAL_CHECKPOINT))?;
    let mut writer = Writer::new(&connection, &APPENDED_TURNS, texts)?;
    let mut begin = connection.prepare("BEGIN IMMEDIATE")?;
    let mut commit = connection.prepare("COMMIT")?;
    let mut savepoint = connection.prepare("SAVEPOINT turn")?;
    let mut release = connection.prepare("RELEASE turn")?;
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let whole = Stopwatch::start();
    while whole.elapsed() < span {
        begin.execute([])?;
        let group = Stopwatch::start();
        for _ in 0..GROUP {
            writer.write(traffic.turn())?;
        }
        without.push(group.elapsed());
        commit.execute([])?;

        begin.execute([])?;
        let group = Stopwatch::start();
        for _ in 0..GROUP {
            savepoint.execute([])?;
            writer.write(traffic.turn())?;
            release.execute([])?;
        }
        with.push(group.elapsed());
        commit.execute([])?;
    }
    Ok(compared("savepoint per turn", with, without, GROUP))
}

/// A statement that is found in the cache for each row, or held.
fn statements() -> Fallible<Value> {
    const SQL: &str = "INSERT INTO log (data) VALUES (?1)";
    let file = StoreFile::create("statements", "CREATE TABLE log (data INTEGER NOT NULL) STRICT")?;
    let mut connection = file.connect()?;
    let (mut cached, mut held) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let transaction = connection.transaction()?;
        let mut insert = transaction.prepare(SQL)?;
        let round = Stopwatch::start();
        for row in 0..ROWS {
            insert.execute([row])?;
        }
        held.push(round.elapsed());

        let round = Stopwatch::start();
        for row in 0..ROWS {
            transaction.prepare_cached(SQL)?.execute([row])?;
        }
        cached.push(round.elapsed());
        drop(insert);
        transaction.rollback()?;
    }
    Ok(compared("prepare_cached per execute", cached, held, ROWS.unsigned_abs()))
}

fn compared(what: &str, with: Vec<Duration>, without: Vec<Duration>, count: u64) -> Value {
    let micros = |times: Vec<Duration>| micros_per(Times::from(times).median(), count);
    let (with, without) = (micros(with), micros(without));
    json!({
        "bench": "overhead",
        "what": what,
        "micros": { "with": with, "without": without, "cost": with - without },
    })
}
