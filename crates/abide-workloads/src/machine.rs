//! What the process used of the machine, where the system can tell (Linux).

use std::fs;
use std::time::{Duration, Instant};

use crate::clock;

/// What was used so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) at: Instant,
    pub(crate) cpu: Duration,
    /// Of the database server, if it is known.
    pub(crate) server: Option<Duration>,
}

impl Machine {
    /// The server is named by the number of its first process.
    pub(crate) fn now(server: Option<&str>) -> Self {
        Self { at: clock::now(), cpu: cpu_of("self"), server: server.map(cpu_of_server) }
    }

    pub(crate) fn cpu_since(&self, before: &Self) -> Duration {
        self.cpu.saturating_sub(before.cpu)
    }

    pub(crate) fn server_since(&self, before: &Self) -> Option<Duration> {
        self.server.zip(before.server).map(|(after, before)| after.saturating_sub(before))
    }
}

/// Of all threads of a process, in user and system mode. Both figures that the system has are at most the truth: the first
/// in hundredths of a second, the second exact but without threads that have ended.
pub(crate) fn cpu_of(process: &str) -> Duration {
    ticks(process, 11).unwrap_or_default().max(exact(process).unwrap_or_default())
}

/// Its first process, the children of that one, and those that have ended.
fn cpu_of_server(first: &str) -> Duration {
    let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap_or_default();
    let living: Duration = children.split_whitespace().map(cpu_of).sum();
    cpu_of(first) + living + ticks(first, 13).unwrap_or_default()
}

/// A field of `stat` and the one behind it, counted from behind the name: 11 is the process, 13 its children that have ended.
fn ticks(process: &str, field: usize) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may have spaces in it.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(field);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Duration::from_millis((user + system) * 10))
}

fn exact(process: &str) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let used = |thread: fs::DirEntry| {
        // A thread may end while it is looked at.
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    Some(threads.filter_map(|thread| used(thread.ok()?)).sum())
}

/// The most memory that a process ever had, and what it has now, in megabytes.
pub(crate) fn memory_of(process: &str) -> (Option<f64>, Option<f64>) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let megabytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes / 1024.0)
    };
    (megabytes("VmHWM:"), megabytes("VmRSS:"))
}
