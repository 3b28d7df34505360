//! The cell that user code and engine share.
//!
//! User code writes what it asks for and reads its answers; the engine collects the asks after each poll
//! and brings the answers. Nothing here decides anything about history: that is the engine's.
//!
//! One mutex guards it all. It is never held while foreign code runs: wakers are called, and values of the
//! user are dropped, after it is released, because either may come back here.

mod engine_side;
mod kv;
mod retry;
mod slots;
mod summary;
mod user_side;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use abide_model::codec::Codec;
use abide_model::{ErrorDetails, EventId, KvEntry, PruneOptions, PruneResult, Timestamp};

use crate::ask::{Ask, Family};
use crate::notice::LogLine;
use crate::signals::{Queues, Signals};
use crate::token::Token;
use crate::turn::Identity;
use crate::window::Window;
use kv::{KvView, RecordedWrites};
pub(crate) use retry::{RetriedStep, Try};
use slots::Slots;

/// What a durable future is told.
#[derive(Debug)]
pub(crate) enum Answer {
    /// An activity or a child ended.
    Ended(Result<String, String>),
    /// A timer fired.
    Fired,
    /// A signal or a queue message came.
    Received(String),
    /// A prune was done.
    Pruned(Result<PruneResult, String>),
}

/// The event that records an ask, with what an operator is told of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) id: EventId,
    pub(crate) since_ms: u64,
    /// When a timer fires; zero for the others.
    pub(crate) due_ms: u64,
}

/// A durable future that was dropped before it returned its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropped {
    pub(crate) token: Token,
    pub(crate) bound: Option<EventId>,
    pub(crate) family: Family,
    pub(crate) answered: Answered,
    /// Whether it was dropped while a panic unwound.
    unwinding: Unwound,
}

/// Whether a dropped future had its answer already: then there is nothing left to cancel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    No,
    Yes,
}

/// Why a future cannot be given a tag.
#[derive(Debug)]
pub(crate) enum TagRefused {
    /// It stands for something else; the name is that of the wait or queue.
    NotAnActivity(Family, String),
    /// The poll that asked for it is over.
    Sealed,
}

/// A continue-as-new.
#[derive(Debug, Clone)]
pub(crate) struct Next {
    pub(crate) input: String,
    pub(crate) version: Option<String>,
    /// What to prune in the same commit.
    pub(crate) prune: Option<PruneOptions>,
}

/// What the code did in one poll.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) asks: Vec<Ask>,
    pub(crate) drops: Vec<Dropped>,
    /// The dequeues whose message the code took.
    pub(crate) read: Vec<EventId>,
    /// The execution ends, and this is how the next begins.
    pub(crate) next: Option<Next>,
    /// Why the execution must fail although the code has not returned.
    pub(crate) failure: Option<ErrorDetails>,
}

/// The shared cell.
pub(crate) struct Tape {
    identity: Identity,
    window: Arc<Window>,
    cell: Mutex<Cell>,
}

/// Where the code is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It re-lives what is recorded.
    Replaying,
    /// It does something for the first time.
    Live,
    /// Its outcome is fixed, or it was put away.
    Closed,
}

/// What the mutex guards.
struct Cell {
    phase: Phase,
    codec: Codec,
    now: Timestamp,
    collected: Collected,
    slots: Slots,
    signals: Signals,
    queues: Queues,
    kv: BTreeMap<String, KvEntry>,
    /// When the key-value writes that history holds were made, in order: a replayed write gets its
    /// recorded time, so that pruning by age decides the same again.
    recorded_writes: RecordedWrites,
    status: Option<String>,
    lines: Vec<LogLine>,
    auto_prune: bool,
    /// An answer was brought, or became reachable, since the last poll began.
    resolved: bool,
    /// Whom to wake once all asks of the poll are bound.
    to_wake: Vec<Waker>,
    future_polls: u64,
}

impl fmt::Debug for Tape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tape").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Tape {
    fn cell(&self) -> MutexGuard<'_, Cell> {
        // A panic of user code never happens under the lock, and a panic of ours must not spread to others.
        self.cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the poll ended in a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unwound {
    No,
    Yes,
}

impl Cell {
    /// Changes the phase, unless it is the last.
    fn enter(&mut self, phase: Phase) {
        if self.phase != Phase::Closed {
            self.phase = phase;
        }
    }

    /// Notes that a future has something to return, and gives the waker to call.
    fn resolve(&mut self, token: Token) -> Option<Waker> {
        self.resolved = true;
        self.slots.get_mut(token)?.waker.take()
    }
}
