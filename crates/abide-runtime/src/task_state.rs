//! What is known of the task that works on a lease: whether it was polled, is in a poll, or was woken and waits for its poll.
//!
//! The task writes it, and the watchdog, which runs on another thread, reads it. A task that waits for something without having
//! been woken is owed no poll, however long it waits.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures_util::task::AtomicWaker;

use crate::executor::Executor;
use crate::health::{NEVER, moment, nanos};
use crate::suspects::SuspectPermit;

/// The task of one lease.
pub(crate) struct TaskState {
    executor: Arc<Executor>,
    stage: AtomicU8,
    /// Since when it is in a poll, in nanoseconds of the monotonic clock; `NEVER` if it is not.
    polled_since: AtomicU64,
    /// Since when it waits for a poll.
    woken_at: AtomicU64,
    /// Since when it runs a turn of the orchestration that waited for its activity.
    in_turn_since: AtomicU64,
    /// A renewal of the lease failed at some time: the lease may have run out.
    in_doubt: AtomicBool,
    /// Its turn took longer than `max_turn_time`, and the lease is left to run out.
    has_overrun: AtomicBool,
    has_ended: AtomicBool,
    /// The right to run the one suspect of the node, if it runs one.
    suspect: Mutex<Option<SuspectPermit>>,
    task: AtomicWaker,
}

/// Nobody has polled the task with this lease.
const UNPOLLED: u8 = 0;
const BEGUN: u8 = 1;
/// The lease was given back: the task has nothing to do.
const GIVEN_BACK: u8 = 2;

/// What a task does at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It was never polled.
    Unpolled,
    /// It is in a poll since then.
    InPoll { since: Duration },
    /// It was woken then, and nobody has polled it.
    Woken { at: Duration },
    /// It waits for something.
    Waits,
}

impl TaskState {
    pub(crate) fn new(executor: Arc<Executor>) -> Self {
        Self {
            executor,
            stage: AtomicU8::new(UNPOLLED),
            polled_since: AtomicU64::new(NEVER),
            woken_at: AtomicU64::new(NEVER),
            in_turn_since: AtomicU64::new(NEVER),
            in_doubt: AtomicBool::new(false),
            has_overrun: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            suspect: Mutex::default(),
            task: AtomicWaker::new(),
        }
    }

    /// The task begins to work on the lease; `false` if the lease was given back before.
    pub(crate) fn begin(&self) -> bool {
        self.stage.compare_exchange(UNPOLLED, BEGUN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Takes the lease from a task that nobody polls; `false` if it begins just now.
    pub(crate) fn take_unpolled(&self) -> bool {
        self.stage.compare_exchange(UNPOLLED, GIVEN_BACK, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub(crate) fn doing(&self) -> Doing {
        if self.stage.load(Ordering::Acquire) == UNPOLLED {
            return Doing::Unpolled;
        }
        // The poll first: a task in a poll is not owed one, although it may have been woken.
        match (moment(&self.polled_since), moment(&self.woken_at)) {
            (Some(since), _) => Doing::InPoll { since },
            (None, Some(at)) => Doing::Woken { at },
            (None, None) => Doing::Waits,
        }
    }

    /// Since when the task of an activity runs a turn.
    pub(crate) fn in_turn_since(&self) -> Option<Duration> {
        moment(&self.in_turn_since)
    }

    /// The task of an activity runs a turn until this is dropped.
    pub(crate) fn enter_turn(&self) -> InTurn<'_> {
        self.in_turn_since.store(nanos(self.executor.now()), Ordering::Release);
        InTurn(self)
    }

    pub(crate) fn doubt(&self) {
        self.in_doubt.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt.load(Ordering::Relaxed)
    }

    /// Notes that the turn takes too long: what it decides comes too late, and counts as a crash.
    pub(crate) fn overrun(&self) {
        self.has_overrun.store(true, Ordering::Release);
    }

    pub(crate) fn has_overrun(&self) -> bool {
        self.has_overrun.load(Ordering::Acquire)
    }

    /// The task runs the one suspect of the node until this is dropped, or until the lease is given up: code that never
    /// returns must not keep other suspects from running.
    pub(crate) fn run_suspect(&self, permit: SuspectPermit) -> RunsSuspect<'_> {
        let before = self.suspect.lock().unwrap_or_else(PoisonError::into_inner).replace(permit);
        drop(before);
        RunsSuspect(self)
    }

    /// Leaves it to other suspects to run.
    pub(crate) fn release_suspect_permit(&self) {
        let permit = self.suspect.lock().unwrap_or_else(PoisonError::into_inner).take();
        // With the lock released: lease calls that wait for it are woken.
        drop(permit);
    }

    pub(crate) fn ended(&self) {
        self.has_ended.store(true, Ordering::Release);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    fn poll(&self, task: &Waker) -> InPoll<'_> {
        self.task.register(task);
        let now = self.executor.now();
        self.executor.polls(now);
        self.polled_since.store(nanos(now), Ordering::Release);
        self.woken_at.store(NEVER, Ordering::Release);
        InPoll(self)
    }
}

impl fmt::Debug for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskState").field("doing", &self.doing()).finish_non_exhaustive()
    }
}

impl Wake for TaskState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let now = nanos(self.executor.now());
        // The first of several counts; it is no error if there was one.
        let _first = self.woken_at.compare_exchange(NEVER, now, Ordering::AcqRel, Ordering::Acquire);
        self.task.wake();
    }
}

/// A poll is under way until this is dropped, also by a panic.
struct InPoll<'task>(&'task TaskState);

impl Drop for InPoll<'_> {
    fn drop(&mut self) {
        if self.0.woken_at.load(Ordering::Acquire) != NEVER {
            // It was woken during the poll, and waits for the next one from here on.
            self.0.woken_at.store(nanos(self.0.executor.now()), Ordering::Release);
        }
        self.0.polled_since.store(NEVER, Ordering::Release);
    }
}

/// A suspect runs until this is dropped.
pub(crate) struct RunsSuspect<'task>(&'task TaskState);

impl Drop for RunsSuspect<'_> {
    fn drop(&mut self) {
        self.0.release_suspect_permit();
    }
}

/// A turn runs until this is dropped.
pub(crate) struct InTurn<'task>(&'task TaskState);

impl Drop for InTurn<'_> {
    fn drop(&mut self) {
        self.0.in_turn_since.store(NEVER, Ordering::Release);
    }
}

/// Runs `work`, and keeps `state` up to date.
pub(crate) async fn watched<T>(state: &Arc<TaskState>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let waker = Waker::from(Arc::clone(state));
    poll_fn(|context| {
        let _in_poll = state.poll(context.waker());
        work.as_mut().poll(&mut Context::from_waker(&waker))
    })
    .await
}
