//! A worker as a child process.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use abide_chaos::journal::{self, Line, Note};

use abide::seams::Clock as _;
use abide_host::SystemClock;

use super::site::Site;
use super::wait::{now_ms, pass, until};

/// A worker. It is killed and buried when it goes out of scope, stopped or not.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    journal: PathBuf,
    /// When it was started, in milliseconds since the epoch.
    pub(crate) started_ms: u64,
}

/// So long a worker lives that has nothing to commit.
const LONG_LIFE: Duration = Duration::from_secs(2);

/// What may be different about one.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// How long its leases last; the runtime's defaults unless told.
    pub(crate) lease: Option<Duration>,
    /// How wrong its clock is.
    pub(crate) clock_ahead_ms: i64,
    /// How results come to their orchestrations.
    pub(crate) steps: Steps,
}

/// How the result of an activity comes to its orchestration, if that waits for nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Steps {
    /// In the commit of its next turn, where it is in memory.
    #[default]
    Fused,
    /// As a message, because it is not: nothing stays in memory.
    Told,
}

impl Worker {
    /// Starts one with the leases of the runtime's defaults.
    pub(crate) fn start(site: &Site, label: &str) -> Self {
        Self::start_as(site, label, Manner::default())
    }

    /// Starts one with leases that last this long.
    pub(crate) fn with_lease(site: &Site, label: &str, lease: Duration) -> Self {
        Self::start_as(site, label, Manner { lease: Some(lease), ..Manner::default() })
    }

    pub(crate) fn start_as(site: &Site, label: &str, manner: Manner) -> Self {
        let journal = site.journals().join(format!("{label}.jsonl"));
        let (db, schema) = site.store().names();
        let mut command = Command::new(env!("CARGO_BIN_EXE_chaos-worker"));
        command.arg("--journal").arg(&journal).arg("--gate").arg(site.gate());
        command.args(["--label", label, "--db", &db]);
        command.args(["--clock-ahead-ms", &manner.clock_ahead_ms.to_string()]);
        if let Some(schema) = schema {
            command.args(["--schema", &schema]);
        }
        if let Some(lease) = manner.lease {
            command.args(["--lease-ms", &lease.as_millis().to_string()]);
        }
        match manner.steps {
            Steps::Fused => {}
            Steps::Told => {
                command.args(["--cache-bytes", "0"]);
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let started_ms = now_ms();
        Self { child: command.spawn().unwrap(), journal, started_ms }
    }

    /// Ends it as a power cut would, and waits until the system has buried it.
    pub(crate) fn kill(mut self) {
        assert_eq!(self.child.try_wait().unwrap(), None, "it ended by itself");
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it, but not in the middle of a transaction: there it would stop everybody, which is another story.
    pub(crate) fn freeze(&self, site: &Site) {
        loop {
            self.signal("STOP");
            // Others may be writing, but not all of the time.
            let is_writable = (0..50).any(|_| {
                pass(Duration::from_millis(2));
                site.is_writable()
            });
            if is_writable {
                return;
            }
            self.thaw();
        }
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// Sends it a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        until("the end of a worker", || self.child.try_wait().unwrap())
    }

    /// Ends it in good order.
    pub(crate) fn end(&mut self) {
        self.signal("TERM");
        let status = self.wait();
        assert!(status.success(), "{status}");
        assert!(self.lines().iter().any(|line| line.note == Note::Stopped));
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        journal::read(&self.journal).unwrap()
    }

    /// Waits for a line of its journal.
    pub(crate) fn wait_for(&self, what: &str, is_it: impl Fn(&Note) -> bool) -> Line {
        until(what, || self.lines().into_iter().find(|line| is_it(&line.note)))
    }

    /// Waits until it has committed something; not for long, because there may be nothing left to do.
    pub(crate) fn live_until_it_commits(&self) {
        let clock = SystemClock::new();
        let has_committed = || self.lines().iter().any(|line| line.note == Note::Committed);
        while !has_committed() && clock.monotonic() < LONG_LIFE {
            pass(Duration::from_millis(2));
        }
    }

    pub(crate) fn wait_until_ready(&self) {
        self.wait_for("a worker to be ready", |note| *note == Note::Ready);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It has ended already, or does now.
        let _killed = self.child.kill();
        let _buried = self.child.wait();
    }
}
