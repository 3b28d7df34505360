//! Keeping leases: one loop for all of them, apart from everything that could hold it up.
//!
//! Whoever holds a lease [registers](Renewals::hold) it and drops the guard when it is over. The loop renews each when a sixth
//! to a third of its time is over, repeats what failed, and tells the holder only what the store said for certain: that the
//! lease is lost.
//!
//! Deliberately absent: judging by the local clock that a lease has run out. The store does that.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_model::Entropy;
use abide_provider::{Operation, ProviderError, StoreError};
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::core::Core;
use crate::pacing::some_of;
use crate::store_call::Called;

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

/// All leases that are held.
#[derive(Default)]
pub(crate) struct Renewals {
    held: Mutex<Held>,
    sooner: Notify,
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
}

struct Entry {
    lease: Lease,
    renew_at: Duration,
    /// Until then it lasts, as far as we can tell from here.
    until: Duration,
    under_way: bool,
    failures: u32,
    fate: Fate,
}

/// What happens to a lease while it is held.
#[derive(Debug, Clone, Default)]
struct Fate {
    lost: CancellationToken,
    /// A renewal failed at some time: it may have run out.
    in_doubt: Arc<AtomicBool>,
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
    /// Raised when the store says that the lease is not held any more.
    pub(crate) const fn lost(&self) -> &CancellationToken {
        &self.fate.lost
    }

    /// Whether every renewal came through, as far as we know: then the lease should still be held.
    pub(crate) fn was_kept(&self) -> bool {
        !self.fate.lost.is_cancelled() && !self.fate.in_doubt.load(Ordering::Relaxed)
    }
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.renewals.lock().leases.remove(&self.id);
    }
}

impl Renewals {
    /// Renews a lease that was granted at `granted` until the guard is dropped.
    pub(crate) fn hold(self: &Arc<Self>, lease: Lease, granted: Duration) -> LeaseGuard {
        let renew_at = granted.saturating_add(lease.interval);
        let until = granted.saturating_add(lease.lasts);
        let fate = Fate::default();
        let mut held = self.lock();
        let id = held.next_id;
        held.next_id = held.next_id.wrapping_add(1);
        let entry = Entry { lease, renew_at, until, under_way: false, failures: 0, fate: fate.clone() };
        held.leases.insert(id, Box::new(entry));
        let is_sooner = held.wakes_at.is_none_or(|wakes_at| renew_at < wakes_at);
        if is_sooner {
            held.wakes_at = Some(renew_at);
        }
        drop(held);
        if is_sooner {
            self.sooner.notify_one();
        }
        LeaseGuard { id, renewals: Arc::clone(self), fate }
    }

    /// How far the most belated renewal is behind its time.
    pub(crate) fn lag(&self, now: Duration) -> Duration {
        let held = self.lock();
        let lags = held.leases.values().map(|entry| now.saturating_sub(entry.renew_at));
        lags.max().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        // A panic elsewhere leaves the map as whole as any other moment does.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_due(&self, now: Duration) -> Vec<(u64, Lease)> {
        let mut held = self.lock();
        let mut due = Vec::new();
        for (id, entry) in &mut held.leases {
            if !entry.under_way && entry.renew_at <= now {
                entry.under_way = true;
                due.push((*id, entry.lease.clone()));
            }
        }
        let waiting = held.leases.values().filter(|entry| !entry.under_way);
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
                entry.fate.in_doubt.store(true, Ordering::Relaxed);
                entry.renew_at = now.saturating_add(retry_delay(entry, now, chance));
            }
            Outcome::Lost => {
                if let Some(entry) = held.leases.remove(&id) {
                    entry.fate.lost.cancel();
                    self.losses.notify_one();
                }
            }
        }
    }
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
        for (id, lease) in renewals.take_due(clock.monotonic()) {
            under_way.push(renew(Arc::clone(&core), id, lease));
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

fn renew(core: Arc<Core>, id: u64, lease: Lease) -> BoxFuture<'static, (u64, Outcome)> {
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
                Outcome::Renewed { asked }
            }
            Err(Failure::Lost(error)) => {
                debug!(target: "abide::runtime", lease = on.label(), %error, "a lease is lost");
                Outcome::Lost
            }
            Err(Failure::Passing(error)) => {
                // A runtime that gives up hands back what it holds: nobody needs these leases any more.
                if !core.stop.giving_up.is_cancelled() {
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
