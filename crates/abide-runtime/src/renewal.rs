//! Keeping leases: one loop for all of them, apart from everything that could hold it up.
//!
//! Whoever holds a lease [registers](Renewals::hold) it and drops the guard when it is over. The loop renews each when a sixth
//! to a third of its time is over, repeats what failed, and tells the holder only what the store said for certain: that the
//! lease is lost.
//!
//! Deliberately absent: judging by the local clock that a lease has run out. The store does that.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_model::Entropy;
use abide_provider::{Operation, ProviderError, StoreError};
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::core::Core;
use crate::pacing::some_of;
use crate::reminders::Topic;
use crate::store_call::Called;
use crate::task_state::TaskState;

/// What a lease is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leased {
    Instance,
    Work,
}

impl Leased {
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Work => "activity",
        }
    }
}

/// A lease to keep.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    pub(crate) on: Leased,
    pub(crate) token: String,
    /// How long each renewal makes it last.
    pub(crate) lasts: Duration,
    /// How long to wait between two renewals: at most a third of `lasts`.
    pub(crate) interval: Duration,
}

/// What a lease is about, for people who read the log.
pub(crate) trait Subject: Send + Sync {
    fn instance(&self) -> &str;

    /// The orchestration that the turn or the activity belongs to.
    fn orchestration(&self) -> String;

    /// The activity, if the lease is on one.
    fn activity(&self) -> Option<&str>;
}

/// All leases that are held.
#[derive(Default)]
pub(crate) struct Renewals {
    held: Mutex<Held>,
    sooner: Notify,
    /// A lease is held, and the watchdog had none to look at.
    pub(crate) first: Notify,
    /// A lease was lost: whoever watches over work looks whose it was.
    pub(crate) losses: Notify,
}

#[derive(Default)]
struct Held {
    next_id: u64,
    /// Boxed: a node of the tree has room for eleven, more than allocators have at hand (ADR 15).
    leases: BTreeMap<u64, Box<Entry>>,
    /// When the loop will look again by itself.
    wakes_at: Option<Duration>,
    /// The watchdog waits for a lease to look at.
    watchdog_waits: bool,
}

/// A lease that is held.
pub(crate) struct Entry {
    pub(crate) lease: Lease,
    pub(crate) subject: Arc<dyn Subject>,
    pub(crate) granted: Duration,
    /// The poll that people were last told of, by its beginning, and when they are told again.
    pub(crate) told: Option<(Duration, Duration)>,
    /// Its turn takes too long: it is left to run out.
    pub(crate) runs_out: bool,
    renew_at: Duration,
    /// Until then it lasts, as far as we can tell from here.
    until: Duration,
    under_way: bool,
    failures: u32,
    pub(crate) fate: Fate,
}

impl Entry {
    /// Whether it waits for its next renewal.
    const fn is_waiting(&self) -> bool {
        !self.under_way && !self.runs_out
    }
}

/// A lease whose renewal is due.
struct Due {
    id: u64,
    lease: Lease,
    subject: Arc<dyn Subject>,
}

/// What happens to a lease while it is held.
#[derive(Clone)]
pub(crate) struct Fate {
    pub(crate) lost: CancellationToken,
    /// Who works on it.
    pub(crate) task: Arc<TaskState>,
}

/// Keeps a lease renewed until it is dropped.
pub(crate) struct LeaseGuard {
    id: u64,
    renewals: Arc<Renewals>,
    fate: Fate,
}

impl fmt::Debug for LeaseGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseGuard").field("id", &self.id).finish_non_exhaustive()
    }
}

impl LeaseGuard {
    /// The task that works on it.
    pub(crate) const fn task(&self) -> &Arc<TaskState> {
        &self.fate.task
    }

    /// Raised when the lease is not held any more: the store says so, or it was given back.
    pub(crate) const fn lost(&self) -> &CancellationToken {
        &self.fate.lost
    }

    /// Whether every renewal came through, as far as we know: then the lease should still be held.
    pub(crate) fn was_kept(&self) -> bool {
        !self.fate.lost.is_cancelled() && !self.fate.task.is_in_doubt()
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.fate.task.ended();
        let entry = self.renewals.lock().leases.remove(&self.id);
        // With the lock released: it may be the last to know what was leased.
        drop(entry);
    }
}

impl Renewals {
    /// Renews a lease that was granted at `granted` until the guard is dropped. `task` will work on it.
    pub(crate) fn hold(
        self: &Arc<Self>,
        lease: Lease,
        granted: Duration,
        subject: Arc<dyn Subject>,
        task: TaskState,
    ) -> LeaseGuard {
        let renew_at = granted.saturating_add(lease.interval);
        let until = granted.saturating_add(lease.lasts);
        let fate = Fate { lost: CancellationToken::new(), task: Arc::new(task) };
        let mut held = self.lock();
        let id = held.next_id;
        held.next_id = held.next_id.wrapping_add(1);
        let entry = Entry {
            lease,
            subject,
            granted,
            told: None,
            runs_out: false,
            renew_at,
            until,
            under_way: false,
            failures: 0,
            fate: fate.clone(),
        };
        held.leases.insert(id, Box::new(entry));
        let is_first = std::mem::take(&mut held.watchdog_waits);
        let is_sooner = held.wakes_at.is_none_or(|wakes_at| renew_at < wakes_at);
        if is_sooner {
            held.wakes_at = Some(renew_at);
        }
        drop(held);
        if is_sooner {
            self.sooner.notify_one();
        }
        if is_first {
            self.first.notify_one();
        }
        LeaseGuard { id, renewals: Arc::clone(self), fate }
    }

    /// How far the most belated renewal is behind its time.
    pub(crate) fn lag(&self, now: Duration) -> Duration {
        let held = self.lock();
        let renewed = held.leases.values().filter(|entry| !entry.runs_out);
        let lags = renewed.map(|entry| now.saturating_sub(entry.renew_at));
        lags.max().unwrap_or_default()
    }

    /// Looks at every lease that is held. Those that `keeps` does not keep are held no longer.
    pub(crate) fn retain(&self, mut keeps: impl FnMut(&mut Entry) -> Keep) {
        self.lock().leases.retain(|_, entry| keeps(entry) == Keep::Yes);
    }

    /// Whether none is held; then [`Self::first`] tells of the next.
    pub(crate) fn are_none(&self) -> bool {
        let mut held = self.lock();
        held.watchdog_waits = held.leases.is_empty();
        held.watchdog_waits
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        // A panic elsewhere leaves the map as whole as any other moment does.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_due(&self, now: Duration) -> Vec<Due> {
        let mut held = self.lock();
        let mut due = Vec::new();
        for (id, entry) in &mut held.leases {
            if entry.is_waiting() && entry.renew_at <= now {
                entry.under_way = true;
                due.push(Due { id: *id, lease: entry.lease.clone(), subject: Arc::clone(&entry.subject) });
            }
        }
        let waiting = held.leases.values().filter(|entry| entry.is_waiting());
        held.wakes_at = waiting.map(|entry| entry.renew_at).min();
        due
    }

    /// Forgets what was under way in a loop that is no more.
    fn begin_anew(&self) {
        for entry in self.lock().leases.values_mut() {
            entry.under_way = false;
        }
    }

    fn wakes_at(&self) -> Option<Duration> {
        self.lock().wakes_at
    }

    /// Notes what a renewal came to, if somebody still wants the lease.
    fn note(&self, id: u64, now: Duration, outcome: Outcome, chance: &dyn Entropy) {
        let mut held = self.lock();
        let Some(entry) = held.leases.get_mut(&id) else { return };
        entry.under_way = false;
        match outcome {
            Outcome::Renewed { asked } => {
                entry.failures = 0;
                entry.renew_at = asked.saturating_add(entry.lease.interval);
                entry.until = asked.saturating_add(entry.lease.lasts);
            }
            Outcome::Failed => {
                entry.failures = entry.failures.saturating_add(1);
                entry.fate.task.doubt();
                entry.renew_at = now.saturating_add(retry_delay(entry, now, chance));
            }
            Outcome::Lost => {
                if let Some(entry) = held.leases.remove(&id) {
                    entry.fate.lost.cancel();
                    // The watchdog does not see the turn any more. An activity is asked to stop first (`worker/watch.rs`).
                    if entry.lease.on == Leased::Instance {
                        entry.fate.task.release_suspect_permit();
                    }
                    self.losses.notify_one();
                }
            }
        }
    }
}

/// Whether a lease is held further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Yes,
    No,
}

/// What a renewal came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Renewed { asked: Duration },
    Failed,
    Lost,
}

/// Soon at first, and while there is something to save never later than half of what is left of the lease; then as rarely
/// as renewals are.
fn retry_delay(entry: &Entry, now: Duration, chance: &dyn Entropy) -> Duration {
    let first = entry.lease.interval / 16;
    let left = entry.until.saturating_sub(now);
    let rarely = if left.is_zero() { entry.lease.interval } else { first.max(left / 2) };
    let full = first.saturating_mul(1 << entry.failures.min(4)).min(entry.lease.interval).min(rarely);
    some_of(full, chance).max(Duration::from_millis(1))
}

/// Renews leases until nothing is left that could hold one.
pub(crate) async fn renew_leases(core: Arc<Core>) {
    let Core { renewals, clock, entropy, .. } = &*core;
    let over = &core.stop.drained;
    renewals.begin_anew();
    let mut under_way: FuturesUnordered<BoxFuture<'static, (u64, Outcome)>> = FuturesUnordered::new();
    while !over.is_cancelled() {
        for due in renewals.take_due(clock.monotonic()) {
            under_way.push(renew(Arc::clone(&core), due));
        }
        let next = async {
            match renewals.wakes_at() {
                Some(at) => clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let woken = select(Box::pin(next), Box::pin(renewals.sooner.notified()));
        let wait = select(woken, Box::pin(over.cancelled()));
        if under_way.is_empty() {
            let _woken = wait.await;
            continue;
        }
        if let Either::Left((Some((id, outcome)), _)) = select(under_way.next(), wait).await {
            renewals.note(id, clock.monotonic(), outcome, &**entropy);
        }
    }
}

fn renew(core: Arc<Core>, Due { id, lease, subject }: Due) -> BoxFuture<'static, (u64, Outcome)> {
    let asked = core.clock.monotonic();
    async move {
        let store = Arc::clone(&core.store);
        let Lease { on, token, lasts, interval: _ } = lease;
        let operation = match on {
            Leased::Instance => Operation::RenewOrchestrationItemLock,
            Leased::Work => Operation::RenewWorkItemLock,
        };
        let call = async move {
            match on {
                Leased::Instance => store.renew_orchestration_item_lock(&token, lasts).await,
                Leased::Work => store.renew_work_item_lock(&token, lasts).await,
            }
        };
        let answer = match core.caller.call(operation, lasts / 3, call).await {
            Called::Answered(answer) => answer.map_err(Failure::of(operation)),
            Called::Unanswered(error) => Err(Failure::Passing(error)),
        };
        let outcome = match answer {
            Ok(()) => {
                core.store_answered();
                core.renewed.notify_one();
                Outcome::Renewed { asked }
            }
            Err(Failure::Lost(error)) => {
                debug!(target: "abide::runtime", lease = on.label(), %error, "a lease is lost");
                Outcome::Lost
            }
            Err(Failure::Passing(error)) => {
                // A runtime that gives up hands back what it holds: nobody needs these leases any more.
                if !core.stop.giving_up.is_cancelled() {
                    tell_of_failure(&core, on, &*subject, &error);
                    core.store_failed(asked, &error);
                    core.chances.met_trouble();
                }
                Outcome::Failed
            }
        };
        (id, outcome)
    }
    .boxed()
}

/// Tells of a renewal that failed and is tried again, once per instance and minute.
fn tell_of_failure(core: &Core, on: Leased, subject: &dyn Subject, error: &StoreError) {
    let topic = Topic::Renewal { instance: subject.instance().to_owned() };
    if core.reminders.is_due(topic, core.clock.monotonic()) {
        warn!(target: "abide::runtime", instance_id = %subject.instance(), activity_name = subject.activity(),
            lease = on.label(), %error, "a lease could not be renewed; it is tried again until it is lost");
    }
}

/// Why a lease was not renewed.
enum Failure {
    /// The store did not do it this time.
    Passing(StoreError),
    /// It will not: somebody else may have the lease.
    Lost(ProviderError),
}

impl Failure {
    fn of(operation: Operation) -> impl FnOnce(ProviderError) -> Self {
        move |error| {
            if error.is_retryable() {
                Self::Passing(StoreError::not_applied(operation, error.message))
            } else {
                Self::Lost(error)
            }
        }
    }
}
