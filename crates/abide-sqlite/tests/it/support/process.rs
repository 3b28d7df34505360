//! Other processes: this test binary again, as a child that may be killed, stopped, or traced.
//!
//! A child is an ignored test of this binary ([`child_of`] names it); what it is to do comes through its environment
//! and its standard input, and what it has done it writes to a [`Journal`]. A child that loses its parent ends, because
//! its input does.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::Clock;

use super::folder;

/// How long anything may take before a test gives up. Generous: it is only met when something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Looks until there is something to see, and says how long that took.
///
/// # Panics
///
/// If there is nothing after `limit`.
pub(crate) fn until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> (T, Duration) {
    let clock = SystemClock::new();
    loop {
        if let Some(seen) = look() {
            return (seen, clock.monotonic());
        }
        assert!(clock.monotonic() < limit, "waited {limit:?} for {what}");
        pass(Duration::from_millis(1));
    }
}

/// Lets time pass: between two looks, or to do something at a random moment. Never to wait for something.
#[expect(clippy::disallowed_methods, reason = "other processes live in real time")]
pub(crate) fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// Says that a test was not run, and why.
pub(crate) fn skipped(test: &str, why: &str) {
    println!("SKIPPED {test}: {why}");
    eprintln!("SKIPPED {test}: {why}");
}

/// How often to do something: a few times, or as often as the environment says.
pub(crate) fn times(variable: &str, normally: u64) -> u64 {
    std::env::var(variable).ok().map_or(normally, |value| value.parse().unwrap())
}

/// Numbers that look random, from a seed that can be reported and used again.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Seeded by `ABIDE_SEED`, else by chance.
    pub(crate) fn of_environment() -> Self {
        use abide_model::Entropy;
        Self(times("ABIDE_SEED", abide_host::SystemEntropy.next_u64()))
    }

    pub(crate) const fn seed(&self) -> u64 {
        self.0
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to below `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low)
    }
}

/// This binary as a child: the ignored test of this name does what it is for.
pub(crate) fn child_of(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    as_child(&mut command, test);
    command
}

fn as_child(command: &mut Command, test: &str) {
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).env(ROLE, test);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
}

const ROLE: &str = "ABIDE_CHILD";

/// Whether this process is the child that the test of this name is for.
pub(crate) fn is_child(test: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|role| role == test)
}

/// What a child was told through its environment.
pub(crate) fn told(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set"))
}

/// A child under `strace`, or why there can be none.
///
/// The tracer runs beside the child, not above it (`-D`), so that signals to the child reach the child.
pub(crate) fn traced_child_of(test: &str, output: &Path, options: &[&str]) -> Result<Command, String> {
    tracing_works()?;
    let mut command = Command::new("strace");
    command.args(["-D", "-f", "-o"]).arg(output).args(options).arg(std::env::current_exe().unwrap());
    as_child(&mut command, test);
    Ok(command)
}

/// Whether `strace` is there and may trace.
pub(crate) fn tracing_works() -> Result<(), String> {
    folder::run(Command::new("strace").args(["-f", "-o", "/dev/null", "-e", "trace=write", "true"]))
        .map_err(|error| format!("strace is missing or may not trace ({error})"))
}

/// A process that is killed when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        Self { child: command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")) }
    }

    /// Ends it as a power cut would, and waits until the system has buried it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Stops it; it holds what it holds.
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        folder::run(Command::new("sh").args(["-c", &kill])).unwrap();
    }

    /// Writes a line to its input.
    pub(crate) fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Whether it has ended, and how.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self, limit: Duration) -> ExitStatus {
        until("the end of a child", limit, || self.ended()).0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, or does now.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a process has done: a file of lines, each written whole.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
}

impl Journal {
    pub(crate) fn append_to(path: &Path) -> Self {
        Self { file: OpenOptions::new().create(true).append(true).open(path).unwrap() }
    }

    pub(crate) fn note(&self, line: &str) {
        (&self.file).write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

/// The other end of a journal.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    path: PathBuf,
}

impl Lines {
    pub(crate) fn of(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Every line so far.
    pub(crate) fn all(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')).map(str::to_owned).collect()
    }

    /// Waits for the line with this number.
    pub(crate) fn wait_for(&self, index: usize, limit: Duration) -> (String, Duration) {
        until(&format!("line {index} of {}", self.path.display()), limit, || {
            self.all().into_iter().nth(index)
        })
    }
}
