//! Histories: written in groups to a table that is not empty, and read by a connection that has seen nothing.

use std::hint::black_box;
use std::time::Duration;

use abide_model::Event;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times, number, rate};
use crate::store::file::{StoreFile, WalGauge, checkpoint};
use crate::store::groups::commit_groups;
use crate::store::schema::{APPENDED_TURNS, CLUSTERED_TURNS, Row, SCHEMAS, SELECT, Schema, Writer};
use crate::store::traffic::{EVENTS_PER_TURN, GROUP, LONG_INSTANCE, Pattern, Texts, Traffic, Turn};

/// Pages in the WAL at which a connection checkpoints unless told otherwise.
pub(crate) const USUAL_CHECKPOINT: u64 = 1_000;

const PRELOADED_TURNS: i64 = 200_000;
const PRELOAD_GROUP: usize = 20_000;
/// Every so many turns of the preload are one of the long history: 10,000 events in the end.
const LONG_TURN_EVERY: i64 = 40;
const LONG_EVENTS: i64 = PRELOADED_TURNS / LONG_TURN_EVERY * EVENTS_PER_TURN;
const READS: usize = 5;

/// All schemas with instances that come and go, and the two of a row per turn with instances that stay.
pub(crate) fn measure(texts: &Texts, span: Duration) -> Fallible<Vec<Value>> {
    let short = SCHEMAS.iter().map(|schema| (*schema, Pattern::ShortLived));
    let long = [&APPENDED_TURNS, &CLUSTERED_TURNS].map(|schema| (schema, Pattern::LongLived));
    short.chain(long).map(|(schema, pattern)| measure_one(schema, pattern, texts, span)).collect()
}

fn measure_one(schema: &Schema, pattern: Pattern, texts: &Texts, span: Duration) -> Fallible<Value> {
    let (file, mut traffic) = preloaded(schema, pattern, texts)?;
    let preloaded_bytes = file.bytes()?;
    let mut connection = file.connect()?;
    let wal = WalGauge::attach(&mut connection, Some(USUAL_CHECKPOINT))?;
    let mut writer = Writer::new(&connection, schema, texts)?;
    let groups = commit_groups(&connection, GROUP, span, || Ok(writer.write(traffic.turn())?), || Ok(()))?;
    drop(writer);
    drop(connection);

    let mut line = groups.to_json();
    line["bench"] = json!("history");
    line["schema"] = json!(schema.name);
    line["what"] = json!(schema.what);
    line["pattern"] = json!(pattern.name());
    line["events_per_second"] = json!(rate(groups.turns * EVENTS_PER_TURN.unsigned_abs(), groups.elapsed));
    line["wal_bytes_per_turn"] = json!(number(wal.written_bytes()) / number(groups.turns));
    line["file_bytes_per_turn"] = json!(number(preloaded_bytes) / number(PRELOADED_TURNS.unsigned_abs()));
    line["events_read_per_second"] = json!({
        "text": read_rate(&file, schema, Use::Text)?,
        "decoded": read_rate(&file, schema, Use::Events)?,
        "from_disk": disk_rate(&file, schema)?,
    });
    Ok(line)
}

/// A table with many histories in it, all of it on the disk, and the traffic that is to go on.
pub(crate) fn preloaded(schema: &Schema, pattern: Pattern, texts: &Texts) -> Fallible<(StoreFile, Traffic)> {
    let file = StoreFile::create(schema.name, schema.ddl)?;
    let mut traffic = Traffic::new(pattern);
    let turns: Vec<Turn> = (0..PRELOADED_TURNS)
        .map(|turn| match turn % LONG_TURN_EVERY {
            0 => Turn { instance: LONG_INSTANCE, first_event: 1 + turn / LONG_TURN_EVERY * EVENTS_PER_TURN },
            _ => traffic.turn(),
        })
        .collect();
    let mut connection = file.connect()?;
    connection.pragma_update(None, "synchronous", "off")?;
    for group in turns.chunks(PRELOAD_GROUP) {
        let transaction = connection.transaction()?;
        let mut writer = Writer::new(&transaction, schema, texts)?;
        group.iter().try_for_each(|turn| writer.write(*turn))?;
        drop(writer);
        transaction.commit()?;
        checkpoint(&connection, "TRUNCATE")?;
    }
    drop(connection);
    // Or the first checkpoint of the measurement would pay for the preload.
    file.open()?.sync_all()?;
    Ok((file, traffic))
}

/// What becomes of the data of a row.
#[derive(Debug, Clone, Copy)]
enum Use {
    Text,
    Events,
}

/// How many events of the long history a connection without a cache reads per second.
fn read_rate(file: &StoreFile, schema: &Schema, purpose: Use) -> Fallible<f64> {
    let times = (0..READS).map(|_| read(file, schema, purpose)).collect::<Fallible<Vec<_>>>()?;
    Ok(long_rate(times))
}

/// The same when the system has no cache either, if it can be told to drop it.
fn disk_rate(file: &StoreFile, schema: &Schema) -> Fallible<Option<f64>> {
    let mut times = Vec::new();
    while times.len() < READS {
        if !file.drop_cached_pages() {
            return Ok(None);
        }
        times.push(read(file, schema, Use::Text)?);
    }
    Ok(Some(long_rate(times)))
}

fn long_rate(times: Vec<Duration>) -> f64 {
    rate(LONG_EVENTS.unsigned_abs(), Times::from(times).median())
}

fn read(file: &StoreFile, schema: &Schema, purpose: Use) -> Fallible<Duration> {
    let connection = file.connect()?;
    let watch = Stopwatch::start();
    let mut select = connection.prepare(SELECT)?;
    let mut rows = select.query([schema.key_of(LONG_INSTANCE)])?;
    let mut events = 0;
    while let Some(row) = rows.next()? {
        let ValueRef::Text(text) = row.get_ref(0)? else { return Err("the data is not text".into()) };
        events += take(std::str::from_utf8(text)?, schema.row, purpose)?;
    }
    let time = watch.elapsed();
    if events == LONG_EVENTS {
        Ok(time)
    } else {
        Err(format!("{}: read {events} events", schema.name).into())
    }
}

/// Takes the data of a row, and says how many events it is.
fn take(text: &str, row: Row, purpose: Use) -> Fallible<i64> {
    match (purpose, row) {
        (Use::Text, Row::Event) => {
            black_box(text.to_owned());
            Ok(1)
        }
        (Use::Text, Row::Turn) => {
            black_box(text.to_owned());
            Ok(EVENTS_PER_TURN)
        }
        (Use::Events, Row::Event) => {
            black_box(serde_json::from_str::<Event>(text)?);
            Ok(1)
        }
        (Use::Events, Row::Turn) => {
            let events = black_box(serde_json::from_str::<Vec<Event>>(text)?);
            Ok(i64::try_from(events.len())?)
        }
    }
}
