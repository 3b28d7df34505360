//! What a store allows if nothing is done but the durable writes: one commit per step, in groups of whatever waits.
//!
//! As many callers as orchestrations would be under way, each of which writes a row for its start and one for each of five steps, and
//! waits for each to be on the disk; one writer that takes all who wait, and commits once for all of them. No engine, no queues,
//! no leases: nothing that is built on the store can be faster.

mod postgres;
mod sqlite;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use futures::StreamExt as _;
use futures::channel::{mpsc, oneshot};

use crate::program::{Program, Verdict, block_on};
use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times, millis, number, rate};
use crate::workloads::line::{Ended, Line, Side, Subject, Time};
use crate::workloads::place::{Databases, Folder, spawn};

const USAGE: &str = "\
abide-bench ceiling: measures the durable writes alone, in groups, one commit per step

usage: abide-bench ceiling

It runs on a SQLite file with synchronous=FULL, and on PostgreSQL if it is installed. Prints one JSON line per
result: with 200, 1,000 and 5,000 callers, and with one (the latency of a lone commit, and of an fsync in the
same minute).";

/// The start, and five steps.
const COMMITS: u64 = 6;
const CALLERS: [u64; 3] = [200, 1_000, 5_000];
const LONE: u64 = 300;
/// Enough to take a second or so.
const ORCHESTRATIONS: u64 = 30_000;
/// As large as a turn with an activity in it.
pub(crate) const ROW_BYTES: usize = 300;

/// A row that wants to be on the disk, and who waits for that.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) instance: i64,
    pub(crate) step: i64,
    pub(crate) done: oneshot::Sender<()>,
}

pub(crate) type Inbox = mpsc::UnboundedReceiver<Row>;

pub(crate) fn main(mut words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench ceiling", usage: USAGE };
    let arguments = match words.next().as_deref() {
        None => Ok(Some(())),
        Some("--help" | "-h") => Ok(None),
        Some(unknown) => Err(format!("there is no option '{unknown}'")),
    };
    program.run(arguments, |()| block_on(run()))
}

async fn run() -> Fallible<Verdict> {
    let folder = Folder::new()?;
    let mut lines = sqlite(folder.path()).await?;
    if let Some(mut databases) = Databases::start().await? {
        let url = databases.make().await?;
        lines.extend(postgres(&url).await?);
        databases.finish().await?;
    }
    for line in lines {
        println!("{}", line.to_json());
    }
    Ok(Verdict::Met)
}

/// On a new file in this folder.
pub(crate) async fn sqlite(folder: &Path) -> Fallible<Vec<Line>> {
    let mut lines = Vec::new();
    for callers in [1].into_iter().chain(CALLERS) {
        let (tell, inbox) = mpsc::unbounded();
        let writer = sqlite::start(&folder.join(format!("ceiling-{callers}.db")), inbox)?;
        lines.push(measure("sqlite-full", callers, tell, folder).await?);
        writer.join().map_err(|_| "the writer panicked")??;
    }
    Ok(lines)
}

/// In a new table of this database.
pub(crate) async fn postgres(url: &str) -> Fallible<Vec<Line>> {
    let mut lines = Vec::new();
    for callers in [1].into_iter().chain(CALLERS) {
        let (tell, inbox) = mpsc::unbounded();
        let writer = spawn(postgres::write(url.to_owned(), inbox));
        lines.push(measure("postgres", callers, tell, &std::env::temp_dir()).await?);
        writer.await??;
    }
    Ok(lines)
}

/// Lets so many callers write, one row after the other each.
async fn measure(
    store: &str,
    callers: u64,
    inbox: mpsc::UnboundedSender<Row>,
    folder: &Path,
) -> Fallible<Line> {
    let rows = if callers == 1 { LONE } else { ORCHESTRATIONS.div_ceil(callers) * COMMITS };
    // What happens only once happens before.
    let _warm = caller(0, 10, inbox.clone()).await?;
    let watch = Stopwatch::start();
    let all: Vec<_> = (1..=callers).map(|instance| spawn(caller(instance, rows, inbox.clone()))).collect();
    drop(inbox);
    let mut times = Vec::new();
    for one in all {
        times.extend(one.await??);
    }
    let elapsed = watch.elapsed();
    let times = Times::from(times);
    let mut figures = BTreeMap::new();
    let mut set = |name: &str, figure: f64| figures.insert(name.to_owned(), figure);
    set("p50_ms", millis(times.median()));
    set("p99_ms", millis(times.permille(990)));
    if callers == 1 {
        let syncs = fsyncs(folder, LONE)?;
        set("fsync_p50_ms", millis(syncs.median()));
        set("fsync_p99_ms", millis(syncs.permille(990)));
    } else {
        set("seconds", elapsed.as_secs_f64());
        set("rows_per_second", rate(callers * rows, elapsed));
        set("orchestrations_per_second", rate(callers * rows, elapsed) / number(COMMITS));
    }
    let (workload, store, side) = ("ceiling".to_owned(), store.to_owned(), Side::Ceiling);
    let subject = Subject { workload, size: callers, store, slots: None, nodes: 1, activity_ms: 0, side };
    Ok(Line {
        subject,
        time: Time::of(1),
        ended: Ended::Good,
        failures: 0,
        figures,
        counters: BTreeMap::new(),
    })
}

/// Writes so many rows, and waits for each to be on the disk. Says how long each took.
async fn caller(instance: u64, rows: u64, inbox: mpsc::UnboundedSender<Row>) -> Fallible<Vec<Duration>> {
    let instance = i64::try_from(instance)?;
    let mut times = Vec::new();
    for step in 0..i64::try_from(rows)? {
        let watch = Stopwatch::start();
        let (done, is_done) = oneshot::channel();
        inbox.unbounded_send(Row { instance, step, done })?;
        is_done.await.map_err(|_| "the writer is gone")?;
        times.push(watch.elapsed());
    }
    Ok(times)
}

/// All who wait, in the order in which they came; none if nobody will come any more.
pub(crate) async fn next_group(inbox: &mut Inbox) -> Vec<Row> {
    const MOST: usize = 1_024;
    let mut group: Vec<Row> = inbox.next().await.into_iter().collect();
    while group.len() < MOST {
        let Ok(row) = inbox.try_recv() else { break };
        group.push(row);
    }
    group
}

pub(crate) fn tell_all(group: Vec<Row>) {
    for row in group {
        // Whoever does not wait any more need not be told.
        row.done.send(()).unwrap_or_default();
    }
}

/// How long it takes to append a page to a file and have it on the disk.
pub(crate) fn fsyncs(folder: &Path, count: u64) -> Fallible<Times> {
    let path = folder.join(format!("abide-bench-{}.fsync", std::process::id()));
    let mut file = File::create(&path)?;
    let mut times = Vec::new();
    for _ in 0..count {
        let watch = Stopwatch::start();
        file.write_all(&[7; 4_096])?;
        file.sync_data()?;
        times.push(watch.elapsed());
    }
    std::fs::remove_file(&path)?;
    Ok(times.into())
}
