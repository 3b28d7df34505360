//! Telling the execution's own polls from everything else.
//!
//! An orchestration may only wait for durable things. A wake-up, a request or a drop that comes from
//! anywhere but the execution's own poll (a tokio timer, a channel, a spawned task) cannot be replayed. The
//! window is open on one thread while the engine polls the code or answers it; whatever happens outside of
//! it is foreign, is reported at once, and fails the execution at its next live step. It never influences
//! replay: what history says happened, happened.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Wake;

/// What came from outside the execution's own poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Its waker was called.
    Wake,
    /// Its context was asked for something.
    Ask,
    /// One of its durable futures was polled.
    Poll,
    /// One of its durable futures was dropped.
    Drop,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wake => "it was woken by something that is not durable",
            Self::Ask => "its context was used from outside",
            Self::Poll => "one of its durable futures was polled from outside",
            Self::Drop => "one of its durable futures was dropped from outside",
        })
    }
}

/// Told of foreign asynchrony the moment it first happens, on the thread where it happens.
pub type ForeignListener = Arc<dyn Fn(Foreign) + Send + Sync>;

/// Whether the code is being polled right now, by whom, and what happened around it.
///
/// Relaxed ordering suffices: the flags publish nothing, and a thread always sees what it stored itself, which
/// is all that telling one's own poll from another's needs.
pub(crate) struct Window {
    /// The mark of the thread it is open on; 0 when closed.
    open_on: AtomicU64,
    /// Set for good once the outcome is fixed or the execution was put away: nothing matters any more.
    sealed: AtomicBool,
    woken: AtomicBool,
    /// The first foreign thing that happened: one is enough to fail, and to tell of.
    foreign: OnceLock<Foreign>,
    listener: Option<ForeignListener>,
}

impl Window {
    pub(crate) fn new(listener: Option<ForeignListener>) -> Arc<Self> {
        Arc::new(Self {
            open_on: AtomicU64::new(0),
            sealed: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            foreign: OnceLock::new(),
            listener,
        })
    }

    /// Opens the window on this thread until the guard is dropped.
    pub(crate) fn open(&self) -> OpenWindow<'_> {
        self.open_on.store(this_thread(), Ordering::Relaxed);
        OpenWindow { window: self }
    }

    /// From now on nothing is foreign, because nothing matters.
    pub(crate) fn seal(&self) {
        self.sealed.store(true, Ordering::Relaxed);
    }

    /// Whether the caller is inside the execution's own poll; if not, that is noted.
    pub(crate) fn admits(&self, what: Foreign) -> bool {
        if self.open_on.load(Ordering::Relaxed) == this_thread() {
            return true;
        }
        self.report(what);
        false
    }

    /// Whether the code woke itself since the last call.
    pub(crate) fn take_woken(&self) -> bool {
        self.woken.swap(false, Ordering::Relaxed)
    }

    /// The first foreign thing that happened, if any.
    pub(crate) fn foreign(&self) -> Option<Foreign> {
        self.foreign.get().copied()
    }

    fn report(&self, what: Foreign) {
        if self.sealed.load(Ordering::Relaxed) {
            return;
        }
        if self.foreign.set(what).is_ok()
            && let Some(listener) = &self.listener
        {
            listener(what);
        }
    }
}

impl Wake for Window {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.admits(Foreign::Wake) {
            self.woken.store(true, Ordering::Relaxed);
        }
    }
}

/// Keeps a [`Window`] open; closing happens also when user code panics.
pub(crate) struct OpenWindow<'a> {
    window: &'a Window,
}

impl Drop for OpenWindow<'_> {
    fn drop(&mut self) {
        self.window.open_on.store(0, Ordering::Relaxed);
    }
}

/// A number no other living thread has. `ThreadId` would do, but does not fit an atomic.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static MARK: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    // The local is gone while its thread is torn down; what runs then is nobody's own poll.
    MARK.try_with(|mark| *mark).unwrap_or(u64::MAX)
}
