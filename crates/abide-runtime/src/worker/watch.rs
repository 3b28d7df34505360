//! Watching over the activities that run, where none of them can hold it up.
//!
//! An activity may keep its thread busy and never yield. It still hears: [`listen`] passes on what the store tells of leases taken
//! away, and [`watch`] finds out why where nothing was said, tells everybody of a shutdown, and takes the slot from whoever
//! does not stop in time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use abide_provider::StolenLeases;
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tracing::{debug, warn};

use super::Worker;
use super::activity::Activity;
use super::running::{Looked, Run};
use super::stopping::why;
use crate::cancellation::CancellationReason;

/// An activity that yields is dropped by its own task when its grace is over. So much later it is one that does not yield.
const MARGIN: Duration = Duration::from_millis(250);

/// Passes on what the store tells of leases taken away, until the runtime gives up. Where it tells nothing, the next
/// renewal finds out.
pub(crate) async fn listen(worker: Arc<Worker>, stolen: Option<StolenLeases>) {
    let Some(mut stolen) = stolen else { return };
    let giving_up = worker.core.stop.giving_up.clone();
    let drained = worker.core.stop.drained.clone();
    let over = async { select(Box::pin(giving_up.cancelled()), Box::pin(drained.cancelled())).await };
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

/// An execution that asked for activities.
type Execution = (String, u64);

/// Watches until nothing runs for the runtime any more.
pub(crate) async fn watch(worker: Arc<Worker>) {
    let core = &worker.core;
    // Of these the store is asked why leases are gone. Whatever is lost meanwhile is asked for in one go afterwards.
    let mut asked: BTreeSet<Execution> = BTreeSet::new();
    let mut answers: FuturesUnordered<BoxFuture<'_, Execution>> = FuturesUnordered::new();
    while !core.stop.drained.is_cancelled() {
        let Round { is_ending, lost, next } = worker.look();
        for (execution, lost) in lost {
            if asked.insert(execution.clone()) {
                answers.push(worker.find_out(lost).map(|()| execution).boxed());
            }
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
        let told =
            select(Box::pin(worker.running.news.notified()), Box::pin(core.renewals.losses.notified()));
        let over = select(Box::pin(ending), Box::pin(core.stop.drained.cancelled()));
        let events = select(select(told, over), Box::pin(time));
        if answers.is_empty() {
            let _any = events.await;
        } else if let Either::Left((Some(execution), _)) = select(answers.next(), events).await {
            asked.remove(&execution);
        }
    }
}

/// What one look at all running activities came to.
struct Round {
    /// They were told that the runtime ends.
    is_ending: bool,
    /// Their leases are gone, and nobody said why.
    lost: BTreeMap<Execution, Vec<Arc<Run>>>,
    /// When the next of them must have stopped.
    next: Option<Duration>,
}

impl Worker {
    fn look(&self) -> Round {
        let now = self.core.clock.monotonic();
        let is_ending = self.core.stop.ending.is_cancelled();
        let mut round = Round { is_ending, lost: BTreeMap::new(), next: None };
        for run in self.running.all() {
            if run.cancellation.reason().is_none() {
                if run.lost.is_cancelled() {
                    let Activity { instance, execution_id, .. } = &*run.activity;
                    round.lost.entry((instance.clone(), *execution_id)).or_default().push(run);
                    continue;
                }
                if is_ending {
                    run.stop(CancellationReason::Shutdown);
                }
            }
            if let Some(at) = self.ends_by(&run, now) {
                round.next = Some(round.next.map_or(at, |next| next.min(at)));
            }
        }
        round
    }

    /// When an activity must have stopped. One that has not, although it should have, loses its slot.
    fn ends_by(&self, run: &Run, now: Duration) -> Option<Duration> {
        // A shutdown waits for those that block.
        if !run.cancellation.is_unwanted() {
            return None;
        }
        let time = self.core.settings.activity_cancellation_grace_period.saturating_add(MARGIN);
        match run.place.look(now, time) {
            Looked::HasTime { until } => Some(until),
            Looked::IsOverdue => {
                self.take_slot(run);
                None
            }
            Looked::NothingToDo => None,
        }
    }

    /// Takes the slot from an activity that keeps its thread. Where others run: if there is no other thread, nothing could use it.
    /// If it is a suspect, another may run as well.
    fn take_slot(&self, run: &Run) {
        run.span.in_scope(|| {
            let Activity { instance, name, id, .. } = &*run.activity;
            warn!(target: "abide::runtime", instance_id = %instance, activity_name = %name, activity_id = id,
                "the activity did not stop in time and keeps its thread; another takes its slot");
        });
        let (place, task) = (run.place.clone(), Arc::clone(&run.task));
        let leave = async move {
            task.release_suspect_permit();
            place.leave();
        };
        self.core.spawn("slot of an activity", leave.boxed());
    }

    /// Asks why the leases of activities of one execution are gone, and tells them.
    async fn find_out(&self, lost: Vec<Arc<Run>>) {
        let Some(first) = lost.first() else { return };
        let history = self.history_of(&first.activity).await;
        for run in &lost {
            run.stop(
                history
                    .as_deref()
                    .map_or(CancellationReason::LeaseLost, |history| why(history, run.activity.id)),
            );
        }
    }
}
