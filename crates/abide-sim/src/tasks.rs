//! Tasks that are watched: how many run, which panicked, and how to end them all as a crash would.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use abide_model::{Spawn, Task};
use futures_util::FutureExt as _;
use tokio::runtime::Handle;
use tokio::sync::watch;
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
    book: Arc<watch::Sender<Book>>,
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
        Self { runtime: Handle::current(), book: Arc::default() }
    }

    /// How many tasks have not ended.
    #[must_use]
    pub fn running(&self) -> usize {
        self.book.borrow().running.len()
    }

    /// What the tasks that have not ended are called, those that began first first.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.book.borrow().running.values().map(|entry| entry.name).collect()
    }

    /// The tasks that panicked, in that order: what they are called, and what they said.
    #[must_use]
    pub fn panicked(&self) -> Vec<String> {
        self.book.borrow().panicked.clone()
    }

    /// Waits until no task runs.
    pub async fn all_ended(&self) {
        let mut book = self.book.subscribe();
        // The sender is ours, so the channel does not close.
        let _closed = book.wait_for(|book| book.running.is_empty()).await.is_err();
    }

    /// Ends every task where it waits, and runs no other from now on: what a crash leaves behind.
    ///
    /// A task has ended when the runtime comes to it, see [`LocalTasks::all_ended`].
    pub fn kill(&self) {
        let mut handles = Vec::new();
        self.book.send_modify(|book| {
            book.life = Life::Killed;
            handles.extend(book.running.values().filter_map(|entry| entry.handle.clone()));
        });
        for handle in handles {
            handle.abort();
        }
    }

    fn run(&self, name: &'static str, task: Task) {
        let Some(number) = self.enter(name) else { return };
        let running = Running { number, book: self.book.clone() };
        let watched = async move {
            #[expect(
                clippy::redundant_async_block,
                reason = "drops the task inside: its `Drop` may panic too"
            )]
            let task = async move { task.await };
            let outcome = AssertUnwindSafe(task).catch_unwind().await;
            if let Err(panic) = outcome {
                let words = format!("{name}: {}", words_of(&*panic));
                running.book.send_modify(|book| book.panicked.push(words));
            }
            drop(running);
        };
        let handle = self.runtime.spawn(watched).abort_handle();
        let mut life = Life::Alive;
        self.book.send_modify(|book| {
            life = book.life;
            if let Some(entry) = book.running.get_mut(&number) {
                entry.handle = Some(handle.clone());
            }
        });
        // Killed from another thread since it was entered, and not found there.
        if life == Life::Killed {
            handle.abort();
        }
    }

    fn enter(&self, name: &'static str) -> Option<u64> {
        let mut number = None;
        self.book.send_modify(|book| {
            if book.life == Life::Alive {
                number = Some(book.spawned);
                book.running.insert(book.spawned, Entry { name, handle: None });
                book.spawned += 1;
            }
        });
        number
    }
}

/// A task in the book, until it ends in whatever way.
struct Running {
    number: u64,
    book: Arc<watch::Sender<Book>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.book.send_modify(|book| {
            book.running.remove(&self.number);
        });
    }
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&'static str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
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
