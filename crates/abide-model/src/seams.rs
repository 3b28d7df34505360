//! Time, chance and tasks, as arguments.
//!
//! Whatever makes two runs of the same program differ comes in through one of these three traits. In
//! production they are the machine's clock, its entropy and its async runtime. In simulation they are a
//! virtual clock, a seeded generator and a scheduler that owns every task, so that a whole cluster runs in
//! one thread, an hour passes in a millisecond, and a failure is found again from its seed.
//!
//! Deliberately absent: implementations, and a way around. Code that takes a `Clock` and also asks the
//! system for the time cannot be simulated.

use std::pin::Pin;
use std::time::Duration;

use crate::Timestamp;

/// Waiting for a point in time.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Something to run to its end in the background.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What time it is, and how to wait.
pub trait Clock: Send + Sync {
    /// The time that is recorded and shown, in whole milliseconds, rounded down; it may jump in either direction.
    fn wall(&self) -> Timestamp;

    /// The same rounded up: a whole millisecond that is not before now. What is counted from it is never early.
    ///
    /// The default is a millisecond later than [`Clock::wall`], which is right for every clock that rounds down. One that knows its
    /// time more exactly says the first such millisecond, and one that only has whole ones says what the wall shows.
    fn wall_rounded_up(&self) -> Timestamp {
        self.wall().saturating_add(Duration::from_millis(1))
    }

    /// The time since some fixed moment, which never runs backwards; for measuring, leases and waiting.
    fn monotonic(&self) -> Duration;

    /// Waits until [`Clock::monotonic`] has reached the given time; ready at once if it has.
    fn sleep_until(&self, monotonic: Duration) -> Sleep;
}

/// Where unique keys and jitter come from.
pub trait Entropy: Send + Sync {
    /// The next number, with every bit as likely to be set as not.
    fn next_u64(&self) -> u64;
}

/// Who runs background tasks, and notices when one panics.
pub trait Spawn: Send + Sync {
    /// Runs `task` to its end, beside all others: some last as long as whoever spawned them. `name` says in logs and dumps what it is for.
    fn spawn(&self, name: &'static str, task: Task);

    /// Runs `task` to its end where no other task can keep it from running by blocking its thread.
    fn spawn_apart(&self, name: &'static str, task: Task);
}
