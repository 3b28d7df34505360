//! Watching over the activities that run, where none of them can hold it up.
//!
//! An activity may keep its thread busy and never yield. It still hears: [`listen`] passes on what the store tells of leases taken
//! away, and [`watch`] finds out why where nothing was said, tells everybody of a shutdown, and takes the slot from whoever
//! does not stop in time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, FutureExt, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tracing::{debug, warn};

use super::Worker;
use super::activity::Activity;
use super::running::Told;
use super::stopping::why;
use crate::cancellation::CancellationReason;

/// An activity that yields is dropped by its own task when its grace is over. So much later it is one that does not yield.
const MARGIN: Duration = Duration::from_millis(250);

/// Passes on what the store tells of leases taken away, until the runtime gives up. Where it tells nothing, the next
/// renewal finds out.
pub(crate) async fn listen(worker: Arc<Worker>) {
    let Some(mut stolen) = worker.core.store.stolen_leases() else { return };
    let ending = worker.core.stop.giving_up.clone();
    let drained = worker.core.stop.drained.clone();
    let over = async { select(Box::pin(ending.cancelled()), Box::pin(drained.cancelled())).await };
    let mut over = Box::pin(over);
    loop {
        match select(stolen.next(), &mut over).await {
            Either::Left((Some(lease), _)) => worker.running.tell(&lease),
            Either::Left((None, _)) => {
                return debug!(target: "abide::runtime", "the store tells no more of leases taken away; renewals find out");
            }
            Either::Right(_) => return,
        }
    }
}

/// Watches until nothing runs for the runtime any more.
pub(crate) async fn watch(worker: Arc<Worker>) {
    let core = &worker.core;
    let mut asked: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    while !core.stop.drained.is_cancelled() {
        let is_ending = core.stop.ending.is_cancelled();
        let Round { lost, next } = worker.look(is_ending);
        for told in lost {
            asked.push(worker.find_out(told).boxed());
        }
        let time = async {
            match next {
                Some(at) => core.clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let ending = async {
            if is_ending { std::future::pending().await } else { core.stop.ending.cancelled().await }
        };
        let answer =
            async { if asked.is_empty() { std::future::pending().await } else { asked.next().await } };
        let told =
            select(Box::pin(worker.running.news.notified()), Box::pin(core.renewals.losses.notified()));
        let events = select(told, select(Box::pin(ending), Box::pin(core.stop.drained.cancelled())));
        let _any = select(events, select(Box::pin(time), Box::pin(answer))).await;
    }
}

/// What one look at all running activities came to.
struct Round {
    /// Their leases are gone, and nobody said why: by execution, so that the store is asked once for each.
    lost: Vec<Vec<Told>>,
    /// When the next of them must have stopped.
    next: Option<Duration>,
}

impl Worker {
    fn look(&self, is_ending: bool) -> Round {
        let now = self.core.clock.monotonic();
        let mut lost: BTreeMap<(String, u64), Vec<Told>> = BTreeMap::new();
        let mut next: Option<Duration> = None;
        for told in self.running.all() {
            if told.cancellation.reason().is_none() {
                if told.lost.is_cancelled() {
                    if !std::mem::replace(&mut told.place.watched().was_asked_for, true) {
                        let Activity { instance, execution_id, .. } = &*told.activity;
                        lost.entry((instance.clone(), *execution_id)).or_default().push(told);
                    }
                    continue;
                }
                if is_ending {
                    told.stop(CancellationReason::Shutdown);
                }
            }
            if let Some(at) = self.ends_by(&told, now) {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        Round { lost: lost.into_values().collect(), next }
    }

    /// When an activity must have stopped. One that has not, although it should have, loses its slot.
    fn ends_by(&self, told: &Told, now: Duration) -> Option<Duration> {
        match told.cancellation.reason() {
            // A shutdown waits for those that block.
            None | Some(CancellationReason::Shutdown) => return None,
            Some(_) => {}
        }
        let time = self.core.settings.activity_cancellation_grace_period.saturating_add(MARGIN);
        let ends_by = *told.place.watched().ends_by.get_or_insert_with(|| now.saturating_add(time));
        if now < ends_by {
            return Some(ends_by);
        }
        if told.place.leave() {
            let Activity { instance, name, id, .. } = &*told.activity;
            warn!(target: "abide::runtime", instance_id = %instance, activity_name = %name, activity_id = id,
                "the activity did not stop in time and keeps its thread; its slot is free again");
        }
        None
    }

    /// Asks why the leases of activities of one execution are gone, and tells them.
    async fn find_out(&self, lost: Vec<Told>) {
        let Some(first) = lost.first() else { return };
        let history = self.history_of(&first.activity).await;
        for told in &lost {
            let reason = history
                .as_deref()
                .map_or(CancellationReason::LeaseLost, |history| why(history, told.activity.id));
            told.stop(reason);
        }
    }
}
