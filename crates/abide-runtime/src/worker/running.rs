//! The activities that run, by the token of their lease: who is told that one was taken away.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_provider::{StolenBecause, StolenLease};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{Span, info};

use super::activity::Activity;
use crate::cancellation::{Cancellation, CancellationReason};
use crate::dispatch::Slot;
use crate::task_state::TaskState;

/// Of how many leases word is kept that came before their activity began, or that were never ours.
const KEPT: usize = 4_096;

/// The activities that run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Running {
    known: Arc<Mutex<Known>>,
    /// Somebody was told something, or begins while the runtime ends.
    pub(super) news: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Known {
    by_token: BTreeMap<String, Arc<Run>>,
    /// What was told of leases under which nothing runs: they may be on their way here.
    early: BTreeMap<String, StolenBecause>,
    /// The tokens of `early`, oldest first.
    order: VecDeque<String>,
}

/// A running activity, and by what it is told.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) activity: Arc<Activity>,
    pub(super) cancellation: Cancellation,
    /// Its lease is not held any more.
    pub(super) lost: CancellationToken,
    pub(super) place: Place,
    pub(super) task: Arc<TaskState>,
    pub(super) span: Span,
}

/// The slot of an activity: given up when it has returned, or taken from one that does not.
#[derive(Debug, Clone)]
pub(super) struct Place(Arc<Mutex<Seat>>);

#[derive(Debug)]
struct Seat {
    /// `None` once the next has it.
    slot: Option<Slot>,
    stage: Stage,
}

/// What a look at an activity that was asked to stop came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    HasTime {
        until: Duration,
    },
    /// Told once.
    IsOverdue,
    NothingToDo,
}

/// How far an activity has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Runs,
    /// It was asked to stop, and must have done so by then.
    MustStop {
        by: Duration,
    },
    /// It must have stopped, and has not.
    Overdue,
    /// What it returned waits to be written.
    Returned,
}

impl Place {
    pub(super) fn new(slot: Slot) -> Self {
        Self(Arc::new(Mutex::new(Seat { slot: Some(slot), stage: Stage::Runs })))
    }

    /// Leaves the slot to the next.
    pub(super) fn leave(&self) {
        let slot = self.take();
        drop(slot);
    }

    /// Takes the slot out, unless the next has it.
    pub(super) fn take(&self) -> Option<Slot> {
        self.lock().slot.take()
    }

    fn has_returned(&self) -> bool {
        self.lock().stage == Stage::Returned
    }

    /// The activity has returned; its result may have to wait.
    pub(super) fn returned(&self) {
        self.lock().stage = Stage::Returned;
    }

    /// What becomes of an activity that was asked to stop: it has so much time from the first look on.
    pub(super) fn look(&self, now: Duration, time: Duration) -> Looked {
        let mut seat = self.lock();
        match seat.stage {
            Stage::Runs => {
                let by = now.saturating_add(time);
                seat.stage = Stage::MustStop { by };
                Looked::HasTime { until: by }
            }
            Stage::MustStop { by } if now < by => Looked::HasTime { until: by },
            Stage::MustStop { .. } if seat.slot.is_some() => {
                seat.stage = Stage::Overdue;
                Looked::IsOverdue
            }
            Stage::MustStop { .. } | Stage::Overdue | Stage::Returned => Looked::NothingToDo,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seat> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An activity runs until this is dropped.
#[derive(Debug)]
pub(super) struct Runs {
    token: String,
    running: Running,
}

impl Running {
    /// An activity is about to begin; it is told at once if its lease was taken away on its way here.
    pub(super) fn enter(&self, run: &Arc<Run>, ending: &CancellationToken) -> Runs {
        let token = run.activity.token.clone();
        let mut known = self.lock();
        known.by_token.insert(token.clone(), Arc::clone(run));
        let early = known.early.remove(&token);
        if early.is_some() {
            known.order.retain(|other| *other != token);
        }
        drop(known);
        if let Some(because) = early {
            run.tell(&because);
        }
        // Looked at after it is known: whoever looks after the end has begun sees it, or it is told of here.
        if ending.is_cancelled() {
            self.news.notify_one();
        }
        Runs { token, running: self.clone() }
    }

    /// Tells whoever runs under a lease that it was taken away. If it is not said why, the store is asked, as after a renewal.
    pub(super) fn tell(&self, lease: &StolenLease) {
        let mut known = self.lock();
        let Some(run) = known.by_token.get(&lease.token).cloned() else { return known.keep(lease) };
        drop(known);
        run.tell(&lease.because);
        self.news.notify_one();
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<Arc<Run>> {
        self.lock().by_token.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn keep(&mut self, lease: &StolenLease) {
        if self.early.insert(lease.token.clone(), lease.because.clone()).is_none() {
            self.order.push_back(lease.token.clone());
        }
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.early.remove(&oldest);
        }
    }
}

impl Run {
    fn tell(&self, because: &StolenBecause) {
        match CancellationReason::told(because) {
            Some(reason) => self.stop(reason),
            None => self.lost.cancel(),
        }
    }

    /// Asks the activity to stop. The first reason counts.
    pub(super) fn stop(&self, reason: CancellationReason) {
        // What has returned already, and waits for its result to be written, has nothing to stop.
        if self.cancellation.cancel(reason) && !self.place.has_returned() {
            let Activity { instance, name, id, .. } = &*self.activity;
            self.span.in_scope(|| {
                info!(target: "abide::runtime", instance_id = %instance, activity_name = %name, activity_id = id, ?reason,
                    "the activity is asked to stop");
            });
        }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.running.lock().by_token.remove(&self.token);
    }
}
