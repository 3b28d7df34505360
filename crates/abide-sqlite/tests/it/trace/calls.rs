//! What `strace` wrote, as the few things that matter.

use std::collections::BTreeMap;

/// Something a process did to its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    /// The log was written to.
    LogWritten,
    /// The log is on the disk.
    LogSynced,
    /// The database file is on the disk: a checkpoint.
    DatabaseSynced,
    /// The process noted something in its journal.
    Noted(String),
}

/// The calls in the order of their effects: a write counts from its beginning, an fsync from its end.
pub(super) fn parse(trace: &str) -> Vec<Call> {
    let mut unfinished: BTreeMap<&str, Call> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((thread, rest)) = line.split_once(char::is_whitespace) else { continue };
        let rest = rest.trim_start();
        if rest.starts_with("<...") {
            if rest.contains("= 0") {
                calls.extend(unfinished.remove(thread));
            }
            unfinished.remove(thread);
            continue;
        }
        let Some(call) = understand(rest) else { continue };
        match call {
            Call::LogWritten | Call::Noted(_) => calls.push(call),
            Call::LogSynced | Call::DatabaseSynced if rest.contains("unfinished") => {
                unfinished.insert(thread, call);
            }
            Call::LogSynced | Call::DatabaseSynced if rest.ends_with("= 0") => calls.push(call),
            Call::LogSynced | Call::DatabaseSynced => {}
        }
    }
    calls
}

fn understand(line: &str) -> Option<Call> {
    let (name, arguments) = line.split_once('(')?;
    let (_, rest) = arguments.split_once('<')?;
    let (path, rest) = rest.split_once('>')?;
    match name {
        "pwrite64" | "write" if path.ends_with("-wal") => Some(Call::LogWritten),
        "fsync" | "fdatasync" if path.ends_with("-wal") => Some(Call::LogSynced),
        "fsync" | "fdatasync" if path.ends_with("/data.db") => Some(Call::DatabaseSynced),
        "write" if path.ends_with("/journal") => {
            Some(Call::Noted(rest.split('"').nth(1)?.trim_end_matches("\\n").to_owned()))
        }
        _ => None,
    }
}

/// How often something happened between two notes.
pub(super) fn count(calls: &[Call], wanted: &Call) -> usize {
    calls.iter().filter(|call| *call == wanted).count()
}

#[test]
fn lines_of_a_trace() {
    let trace = "\
7  pwrite64(9</x/data.db-wal>, \"abc\"..., 24, 0) = 24
8  fdatasync(9</x/data.db-wal> <unfinished ...>
7  write(3</x/journal>, \"durable 1\\n\", 10) = 10
8  <... fdatasync resumed>)                = 0
9  fsync(4</x/data.db>) = 0
9  fsync(9</x/data.db-wal>) = -1 EIO (Input/output error)
9  pwrite64(4</x/data.db>, \"abc\"..., 24, 0) = 24
9  +++ exited with 0 +++
";
    let expected =
        [Call::LogWritten, Call::Noted("durable 1".to_owned()), Call::LogSynced, Call::DatabaseSynced];
    assert_eq!(parse(trace), expected);
}
