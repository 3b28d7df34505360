//! Whether a runtime makes progress: measured, not asserted.
//!
//! A process can run and do nothing. What tells is how long something has waited that could be worked on, when something
//! was last committed, whether leases are renewed in time, and whether the store answers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use abide_provider::Lane;

/// How a runtime does, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Health {
    /// Instances with mail have waited at most this long for a turn: the time since this lane last saw its queue empty. Zero while
    /// the store is asked, because whatever is ready is given out then. It grows while more is started than can be done: as long as activities
    /// crowd, few instances are taken up at a time, so that what has begun is done first.
    pub oldest_ready_instance: Duration,
    /// Activities that this runtime takes have waited at most this long for a slot, by the same measure. It grows while all slots
    /// are busy: then [`stalled`](Self::stalled) says that more slots, or more nodes, are needed.
    pub oldest_ready_activity: Duration,
    /// Time since this runtime last committed something; `None` if it never has.
    pub since_last_commit: Option<Duration>,
    /// How far the most belated lease renewal is behind its time.
    pub renewal_lag: Duration,
    /// Calls of the store that failed, since the start.
    pub storage_errors: u64,
    /// For how long the store has given nothing but errors; `None` if its last answer was none.
    pub storage_down_for: Option<Duration>,
    /// How many instances and activities are blocked, as of the last count. They are counted when the runtime starts, and
    /// with every reading of the gauges from the first block of this node until none is left.
    pub blocked: u64,
    /// The instance that has been blocked for the longest time.
    pub oldest_blocked: Option<String>,
    /// For how long the executor has not run a task that was given to it, because code blocks its threads; `None` if it runs
    /// tasks. A node leases nothing meanwhile.
    pub executor_silent_for: Option<Duration>,
    /// The turn or activity that has kept its thread for longest without yielding, if one has for 5 seconds.
    pub longest_poll: Option<LongPoll>,
}

/// A turn or an activity that does not yield.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LongPoll {
    /// The instance it belongs to.
    pub instance: String,
    /// The orchestration it belongs to; empty if the store does not say which asked for an activity.
    pub orchestration: String,
    /// The activity; `None` if it is a turn of the orchestration.
    pub activity: Option<String>,
    /// For how long it has not yielded.
    pub lasts: Duration,
}

impl Health {
    /// What keeps this runtime from making progress, if anything has for longer than `patience`.
    #[must_use]
    pub fn stalled(&self, patience: Duration) -> Option<Stalled> {
        if let Some(down_for) = self.storage_down_for.filter(|down_for| *down_for > patience) {
            return Some(Stalled::StorageDown { down_for });
        }
        if self.renewal_lag > patience {
            return Some(Stalled::RenewalsLate { lag: self.renewal_lag });
        }
        if let Some(silent_for) = self.executor_silent_for.filter(|silent_for| *silent_for > patience) {
            return Some(Stalled::ExecutorSilent { silent_for });
        }
        let waiting = self.oldest_ready_instance.max(self.oldest_ready_activity);
        let idle = self.since_last_commit.is_none_or(|since| since > patience);
        (waiting > patience && idle).then_some(Stalled::NothingCommitted { waiting })
    }
}

/// Why there is no progress.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stalled {
    /// The store answers with errors.
    #[error("the store has given nothing but errors for {down_for:?}")]
    StorageDown {
        /// For how long.
        down_for: Duration,
    },
    /// Leases are not renewed in time.
    #[error("lease renewals are {lag:?} behind")]
    RenewalsLate {
        /// How late.
        lag: Duration,
    },
    /// The executor runs no tasks: code blocks its threads.
    #[error("the executor has run no task for {silent_for:?}: code blocks its threads")]
    ExecutorSilent {
        /// For how long.
        silent_for: Duration,
    },
    /// Something waits, and nothing was committed.
    #[error("something may have waited for {waiting:?}, and nothing was committed")]
    NothingCommitted {
        /// For how long at most.
        waiting: Duration,
    },
}

/// A moment that has not come.
pub(crate) const NEVER: u64 = u64::MAX;

/// What the runtime notes while it works.
#[derive(Debug)]
pub(crate) struct Pulse {
    instances: LanePulse,
    work: LanePulse,
    last_commit: AtomicU64,
    storage_errors: AtomicU64,
    down_since: AtomicU64,
    /// When the last outage ended; zero if there was none.
    up_since: AtomicU64,
}

impl Pulse {
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            instances: LanePulse::new(now),
            work: LanePulse::new(now),
            last_commit: AtomicU64::new(NEVER),
            storage_errors: AtomicU64::new(0),
            down_since: AtomicU64::new(NEVER),
            up_since: AtomicU64::new(0),
        }
    }

    pub(crate) const fn lane(&self, lane: Lane) -> &LanePulse {
        match lane {
            Lane::Instances => &self.instances,
            Lane::Work => &self.work,
        }
    }

    pub(crate) fn committed(&self, now: Duration) {
        self.last_commit.store(nanos(now), Ordering::Relaxed);
    }

    /// A call that was made at `began` failed by now.
    pub(crate) fn storage_error(&self, began: Duration, now: Duration) -> Outage {
        self.storage_errors.fetch_add(1, Ordering::Relaxed);
        if nanos(began) < self.up_since.load(Ordering::Relaxed) {
            return Outage::IsOver;
        }
        // If it was down already, it has been since then.
        match self.down_since.compare_exchange(NEVER, nanos(now), Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_up) => Outage::Begins,
            Err(_down) => Outage::GoesOn,
        }
    }

    /// For how long the store had given nothing but errors, if it had.
    pub(crate) fn storage_answered(&self, now: Duration) -> Option<Duration> {
        // Most answers follow an answer: nothing is written then, so that all threads can look.
        since(&self.down_since, now)?;
        self.up_since.store(nanos(now), Ordering::Relaxed);
        let before = self.down_since.swap(NEVER, Ordering::Relaxed);
        (before != NEVER).then(|| now.saturating_sub(Duration::from_nanos(before)))
    }

    pub(crate) fn health(&self, now: Duration, renewal_lag: Duration) -> Health {
        Health {
            oldest_ready_instance: self.instances.oldest_ready(now),
            oldest_ready_activity: self.work.oldest_ready(now),
            since_last_commit: since(&self.last_commit, now),
            renewal_lag,
            storage_errors: self.storage_errors.load(Ordering::Relaxed),
            storage_down_for: since(&self.down_since, now),
            blocked: 0,
            oldest_blocked: None,
            // Neither is measured here.
            executor_silent_for: None,
            longest_poll: None,
        }
    }
}

/// Whether an error of the store is the first since it last answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outage {
    Begins,
    GoesOn,
    /// The call was made before the store last recovered, and says nothing about the store of today.
    IsOver,
}

/// When a lane was last known to be empty. Everything that is ready came later.
#[derive(Debug)]
pub(crate) struct LanePulse {
    empty_at: AtomicU64,
    asking: AtomicBool,
}

impl LanePulse {
    fn new(now: Duration) -> Self {
        Self { empty_at: AtomicU64::new(nanos(now)), asking: AtomicBool::new(false) }
    }

    /// The lane asks the store, which serves whatever is ready.
    pub(crate) fn asked(&self) {
        self.asking.store(true, Ordering::Relaxed);
    }

    /// The store gave less than it was asked for: nothing is left.
    pub(crate) fn drained(&self, now: Duration) {
        self.empty_at.store(nanos(now), Ordering::Relaxed);
    }

    /// The store answered, or failed.
    pub(crate) fn answered(&self) {
        self.asking.store(false, Ordering::Relaxed);
    }

    fn oldest_ready(&self, now: Duration) -> Duration {
        if self.asking.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        since(&self.empty_at, now).unwrap_or_default()
    }
}

fn since(of: &AtomicU64, now: Duration) -> Option<Duration> {
    moment(of).map(|moment| now.saturating_sub(moment))
}

/// The monotonic time that is kept there, if any.
pub(crate) fn moment(of: &AtomicU64) -> Option<Duration> {
    let nanos = of.load(Ordering::Acquire);
    (nanos != NEVER).then_some(Duration::from_nanos(nanos))
}

/// A monotonic time as it is kept.
pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_from_before_the_store_recovered_begins_no_outage() {
        let at = Duration::from_secs;
        let pulse = Pulse::new(at(0));
        assert_eq!(pulse.storage_error(at(1), at(2)), Outage::Begins);
        assert_eq!(pulse.storage_error(at(1), at(3)), Outage::GoesOn);
        assert_eq!(pulse.storage_answered(at(5)), Some(at(3)));
        assert_eq!(pulse.storage_error(at(4), at(6)), Outage::IsOver, "made in the outage, late after it");
        assert_eq!(pulse.health(at(6), at(0)).storage_down_for, None);
        assert_eq!(pulse.storage_error(at(5), at(7)), Outage::Begins);
        assert_eq!(pulse.health(at(7), at(0)).storage_errors, 4, "all are counted");
    }
}
