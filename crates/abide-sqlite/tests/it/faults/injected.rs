//! The nth write, read or fsync fails, or the process dies in it.
//!
//! A child works through a fixed plan under `strace`, which makes chosen calls on the database's files fail. The child
//! repeats what failed. A few calls are chosen by chance; `ABIDE_FAULTS=400` tries that many of every kind, and each of
//! them if there are no more.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use crate::crash::evidence::{Evidence, integrity};
use crate::support::folder::{Folder, beside, url};
use crate::support::load::{Load, Plan};
use crate::support::process::{
    Dice, Journal, Lines, PATIENCE, Running, is_child, skipped, times, told, traced_child_of, tracing_works,
};

const CHILD: &str = "faults::injected::works_through_a_plan";
const DATABASE: &str = "data.db";
const JOURNAL: &str = "journal";
const TRACE: &str = "trace";

#[test]
#[ignore = "the child of other tests"]
fn works_through_a_plan() {
    if !is_child(CHILD) {
        return;
    }
    let folder = told("ABIDE_FOLDER");
    work_through(Path::new(&folder), told("ABIDE_ROUND").parse().unwrap());
}

/// Opens the database and does everything there is to do.
fn work_through(folder: &Path, round: u64) {
    let journal = Journal::append_to(&folder.join(JOURNAL));
    let store = match block_on(SqliteProvider::new(&url(&folder.join(DATABASE)), None)) {
        Ok(store) => store,
        // Every attempt has a thread of its own, whose calls are counted anew: it would fail in the same place again.
        Err(error) => return journal.note(&format!("fault open: {error}")),
    };
    // Short: a lease call that failed may have leased, and then nobody has what it leased.
    let plan = Plan { round, chains: 4, lease: Duration::from_secs(2), at_most: Duration::from_secs(25) };
    block_on(Load::new(&store, &journal, plan).run());
    drop(store);
    journal.note("end");
}

/// What goes wrong, and in which calls.
struct Fault {
    calls: &'static str,
    what: &'static str,
    /// How many calls in a row, beside the first.
    more: u64,
}

/// Fails the nth call of every thread, for some n.
fn inject(test: &str, fault: &Fault) {
    if let Err(why) = tracing_works() {
        return skipped(test, &why);
    }
    let calls = count_calls(fault.calls);
    let tries = times("ABIDE_FAULTS", 5).min(calls);
    let mut dice = Dice::of_environment();
    println!("{tries} of {calls} calls, ABIDE_SEED={}", dice.seed());
    let mut seen = 0;
    for index in 0..tries {
        // One of each stretch of the way.
        let nth = 1 + (index * calls + dice.between(0, calls)) / tries;
        let folder = Folder::new("injected");
        seen += usize::from(run_with(&folder, fault, nth));
    }
    println!("{seen} of {tries} runs met the fault");
    assert!(seen > 0, "no run met the fault");
}

/// How many calls the busiest thread makes when nothing fails.
fn count_calls(calls: &str) -> u64 {
    let folder = Folder::new("counted");
    let ended = Running::start(child(&folder, calls, None)).wait(PATIENCE * 2);
    assert!(ended.success(), "{ended}");
    let trace = std::fs::read_to_string(folder.file(TRACE)).unwrap();
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for line in trace.lines() {
        let call = line.split_once('(').and_then(|(front, _)| front.split_once(' '));
        if let Some((thread, name)) = call {
            *counts.entry((thread, name.trim())).or_default() += 1;
        }
    }
    *counts.values().max().unwrap()
}

/// The child, with these calls to the database's files in sight, and perhaps tampered with.
fn child(folder: &Folder, calls: &str, tamper: Option<&str>) -> Command {
    let path = folder.file(DATABASE);
    let files = ["", "-journal", "-wal", "-shm"].map(|suffix| beside(&path, suffix).display().to_string());
    let trace = format!("trace={calls}");
    let inject = tamper.map(|tamper| format!("inject={calls}:{tamper}"));
    let mut options = vec!["-e", &trace];
    if let Some(inject) = &inject {
        options.extend(["-e", inject]);
    }
    for file in &files {
        options.extend(["-P", file]);
    }
    let mut command = traced_child_of(CHILD, &folder.file(TRACE), &options).unwrap();
    command.env("ABIDE_FOLDER", folder.path()).env("ABIDE_ROUND", "0");
    command
}

/// Says whether the child has met the fault.
fn run_with(folder: &Folder, fault: &Fault, nth: u64) -> bool {
    let Fault { calls, what, more } = fault;
    let when = format!("{nth}..{}", nth + more);
    println!("{calls} {what} {when}");
    let ended = Running::start(child(folder, calls, Some(&format!("{what}:when={when}")))).wait(PATIENCE * 2);
    let path = folder.file(DATABASE);
    let journal = Lines::of(&folder.file(JOURNAL)).all();
    let last = journal.last().map_or("", String::as_str);
    if what.starts_with("signal") || last.starts_with("fault open") {
        // What another process finds, and goes on with. Before the first byte there is nothing to look at.
        if std::fs::metadata(&path).is_ok_and(|file| file.len() > 0) && last != "end" && opened(&path) {
            look(&path, &journal);
        }
        work_through(folder.path(), 1);
    } else {
        assert!(ended.success() && last == "end", "{ended}, {when}\n{}", journal.join("\n"));
    }
    look(&path, &Lines::of(&folder.file(JOURNAL)).all()).finished().must_be_sound();
    let names: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with(DATABASE)).collect();
    assert_eq!(names, [DATABASE], "{when}");
    !ended.success() || journal.iter().any(|line| line.starts_with("fault"))
}

/// Whether the database was created: the migration is all or nothing.
fn opened(path: &Path) -> bool {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap() > 0
}

fn look(path: &Path, journal: &[String]) -> Evidence {
    assert_eq!(integrity(path), "ok");
    Evidence::read(path).whole().holds(journal).must_be_sound()
}

const WRITES: &str = "pwrite64,fsync,fdatasync,ftruncate";

#[test]
fn writes_that_fail() {
    inject("writes_that_fail", &Fault { calls: WRITES, what: "error=EIO", more: 0 });
}

#[test]
fn writes_that_fail_for_a_while() {
    inject("writes_that_fail_for_a_while", &Fault { calls: WRITES, what: "error=EIO", more: 12 });
}

#[test]
fn writes_without_space() {
    inject("writes_without_space", &Fault { calls: "pwrite64,ftruncate", what: "error=ENOSPC", more: 12 });
}

#[test]
fn fsyncs_that_fail() {
    inject("fsyncs_that_fail", &Fault { calls: "fsync,fdatasync", what: "error=EIO", more: 1 });
}

#[test]
fn reads_that_fail() {
    inject("reads_that_fail", &Fault { calls: "pread64", what: "error=EIO", more: 1 });
}

#[test]
fn writes_that_kill() {
    inject("writes_that_kill", &Fault { calls: WRITES, what: "signal=KILL", more: 0 });
}
