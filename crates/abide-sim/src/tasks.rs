//! Tasks that are watched: how many run, which panicked, and how to end them all as a crash would.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_model::{Spawn, Task, panic_text};
use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Runs every task, also those that want to be apart, on the tokio runtime in which this value was made.
///
/// On one thread and in virtual time that makes a program the same every time. A task that blocks its thread blocks all.
///
/// ```
/// use std::time::Duration;
///
/// use abide_model::Spawn as _;
/// use abide_sim::{LocalTasks, simulate};
///
/// simulate(Duration::MAX, async {
///     let tasks = LocalTasks::new();
///     tasks.spawn("careless", Box::pin(async { panic!("out of eggs") }));
///     assert_eq!(tasks.running(), 1);
///     tasks.all_ended().await;
///     assert_eq!(tasks.panicked(), ["careless: out of eggs"]);
/// });
/// ```
#[derive(Clone)]
pub struct LocalTasks {
    runtime: Handle,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    book: Mutex<Book>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Book {
    spawned: u64,
    running: BTreeMap<u64, Entry>,
    panicked: Vec<String>,
    life: Life,
}

#[derive(Debug)]
struct Entry {
    name: &'static str,
    /// Known a moment after the task is.
    handle: Option<AbortHandle>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Alive,
    Killed,
}

impl LocalTasks {
    /// Nothing runs yet.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn new() -> Self {
        Self { runtime: Handle::current(), shared: Arc::default() }
    }

    /// How many tasks were started, whether they have ended or not.
    #[must_use]
    pub fn spawned(&self) -> u64 {
        self.shared.book().spawned
    }

    /// How many tasks have not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.book().running.len()
    }

    /// What the tasks that have not ended are called, those that began first first.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.shared.book().running.values().map(|entry| entry.name).collect()
    }

    /// The tasks that panicked, in that order: what they are called, and what they said.
    #[must_use]
    pub fn panicked(&self) -> Vec<String> {
        self.shared.book().panicked.clone()
    }

    /// Waits until no task runs.
    pub async fn all_ended(&self) {
        loop {
            // Made before looking, or an end in between would be missed.
            let ended = self.shared.ended.notified();
            if self.running() == 0 {
                return;
            }
            ended.await;
        }
    }

    /// Ends every task where it waits, and runs no other from now on: what a crash leaves behind.
    ///
    /// A task has ended when the runtime comes to it, see [`LocalTasks::all_ended`].
    pub fn kill(&self) {
        let handles: Vec<_> = {
            let mut book = self.shared.book();
            book.life = Life::Killed;
            book.running.values().filter_map(|entry| entry.handle.clone()).collect()
        };
        for handle in handles {
            handle.abort();
        }
    }

    fn run(&self, name: &'static str, task: Task) {
        let Some(number) = self.shared.book().enter(name) else { return };
        let running = Running { number, shared: self.shared.clone() };
        let watched = async move {
            #[expect(
                clippy::redundant_async_block,
                reason = "drops the task inside: its `Drop` may panic too"
            )]
            let task = async move { task.await };
            if let Err(panic) = AssertUnwindSafe(task).catch_unwind().await {
                let words = panic_text(panic).unwrap_or_else(|| "no message".to_owned());
                let words = format!("{name}: {words}");
                running.shared.book().panicked.push(words);
            }
            drop(running);
        };
        let handle = self.runtime.spawn(watched).abort_handle();
        let life = self.shared.book().remember(number, &handle);
        // Killed from another thread since it was entered, and not found there.
        if life == Life::Killed {
            handle.abort();
        }
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        // No code of others runs under the lock, so what a panic leaves is whole.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// A number for a task, unless none may begin.
    fn enter(&mut self, name: &'static str) -> Option<u64> {
        match self.life {
            Life::Killed => None,
            Life::Alive => {
                let number = self.spawned;
                self.spawned += 1;
                self.running.insert(number, Entry { name, handle: None });
                Some(number)
            }
        }
    }

    fn remember(&mut self, number: u64, handle: &AbortHandle) -> Life {
        if let Some(entry) = self.running.get_mut(&number) {
            entry.handle = Some(handle.clone());
        }
        self.life
    }
}

/// A task in the book, until it ends in whatever way.
struct Running {
    number: u64,
    shared: Arc<Shared>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _entry = self.shared.book().running.remove(&self.number);
        self.shared.ended.notify_waiters();
    }
}

impl Default for LocalTasks {
    fn default() -> Self {
        Self::new()
    }
}

impl Spawn for LocalTasks {
    fn spawn(&self, name: &'static str, task: Task) {
        self.run(name, task);
    }

    fn spawn_apart(&self, name: &'static str, task: Task) {
        self.run(name, task);
    }
}

impl fmt::Debug for LocalTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalTasks").field("running", &self.names()).finish_non_exhaustive()
    }
}
