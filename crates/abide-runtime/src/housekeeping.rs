//! What is done from time to time: gauges, and sessions that nobody owns any more.
//!
//! Both ask the store, and cost it the more the more there is in it. Where nothing was done there is nothing new to see, so a node that
//! was idle since the last time mostly leaves the store in peace.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use abide_provider::{Ability, BlockKind, Operation};
use futures_util::FutureExt;
use tracing::{debug, error, info};

use crate::block_log::Withheld;
use crate::core::Core;
use crate::store_call::{Called, PATIENCE, Pause};

/// Does its rounds until the runtime ends.
pub(crate) async fn keep_house(core: Arc<Core>) {
    read_gauges(&core, Round::First).await;
    let begin = core.clock.monotonic();
    let mut gauges = Chore::new(begin, core.settings.observability.gauge_poll_interval, Duration::ZERO);
    // What was used last can be forgotten when it has been idle for long enough.
    let idle_sessions = core.settings.session_idle_timeout.saturating_add(core.settings.session_lock_timeout);
    let mut sessions = Chore::new(begin, core.settings.session_cleanup_interval, idle_sessions);
    loop {
        let (now, done) = (core.clock.monotonic(), work_done(&core));
        match gauges.is_due(now, done) {
            Due::NotYet => {}
            Due::Busy => read_gauges(&core, Round::Busy).await,
            Due::Idle => read_gauges(&core, Round::Idle).await,
        }
        match sessions.is_due(now, done) {
            Due::NotYet => {}
            Due::Busy | Due::Idle => forget_sessions(&core).await,
        }
        tell_withheld(&core.blocks.take_counts(now));
        let pause = gauges.next.min(sessions.next).saturating_sub(core.clock.monotonic());
        if core.caller.pause(pause).await == Pause::Ending {
            tell_withheld(&core.blocks.take_last_counts());
            return;
        }
    }
}

/// How much was begun and ended here; `None` if nothing ever is, because this node leaves all of it to others.
fn work_done(core: &Core) -> Option<u64> {
    let runs_something = core.settings.orchestration_concurrency > 0 || core.settings.worker_concurrency > 0;
    runs_something.then(|| core.work_done.load(Ordering::Relaxed))
}

/// An idle node does a chore this many times more rarely: what others do can be seen here, too.
const IDLE: u32 = 10;

/// Something that is done from time to time.
#[derive(Debug)]
struct Chore {
    interval: Duration,
    next: Duration,
    /// How long work that was done here may still have something to do with it.
    aftermath: Duration,
    /// How much had been done here when there was last something new, and when that was noticed.
    seen: Option<u64>,
    seen_at: Duration,
    idle_rounds: u32,
}

impl Chore {
    fn new(now: Duration, interval: Duration, aftermath: Duration) -> Self {
        let next = now.saturating_add(interval);
        Self { interval, next, aftermath, seen: Some(0), seen_at: now, idle_rounds: 0 }
    }

    /// Whether to do it now, when so much has been done here.
    fn is_due(&mut self, now: Duration, done: Option<u64>) -> Due {
        if now < self.next {
            return Due::NotYet;
        }
        self.next = now.saturating_add(self.interval);
        if done.is_none() || done != self.seen {
            (self.seen, self.seen_at) = (done, now);
        }
        let is_over = now > self.seen_at.saturating_add(self.aftermath);
        self.idle_rounds = if is_over { self.idle_rounds.saturating_add(1) } else { 0 };
        if !is_over {
            Due::Busy
        } else if self.idle_rounds.is_multiple_of(IDLE) {
            Due::Idle
        } else {
            Due::NotYet
        }
    }
}

/// Whether a chore is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    NotYet,
    /// It is, and work was done here since the last time.
    Busy,
    /// It is, although no work was done here.
    Idle,
}

/// On which occasion the gauges are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    First,
    Busy,
    /// Nothing was done here. What costs a read more than before is left out.
    Idle,
}

async fn read_gauges(core: &Arc<Core>, round: Round) {
    let store = Arc::clone(&core.store);
    let call = async move {
        let admin = store.as_management_capability()?;
        Some((admin.count_running_instances().await, admin.get_queue_depths().await))
    };
    if round != Round::Idle || core.blocked.is_suspected() {
        count_blocked(core).await;
    }
    match core.caller.call(Operation::GetQueueDepths, PATIENCE, call.boxed()).await {
        Called::Answered(Some((running, depths))) => {
            if let Ok(running) = running {
                let running = i64::try_from(running).unwrap_or(i64::MAX);
                core.metrics.set_active_orchestrations(running);
                if round == Round::First && running > 0 {
                    info!(target: "abide::runtime", running, "this store has running instances: going on with them");
                }
            }
            if let Ok(depths) = depths {
                let (orchestrations, work) = (depths.orchestrator_queue, depths.worker_queue);
                core.metrics.update_queue_depths(count(orchestrations), count(work));
            }
        }
        Called::Answered(None) | Called::Unanswered(_) => {}
    }
}

/// Tells how many blocks had no line of their own.
fn tell_withheld(withheld: &[Withheld]) {
    for Withheld { name, kind, count } in withheld {
        error!(target: "abide::runtime", %name, %kind, count, "{count} more were blocked within a minute");
    }
}

/// Counts what is blocked in the store, also by other nodes: when the runtime starts, while it has work, and
/// from its first block until nothing is blocked any more.
async fn count_blocked(core: &Arc<Core>) {
    if !core.abilities.has(Ability::Blocking) {
        return;
    }
    let store = Arc::clone(&core.store);
    let call = async move { Some(store.as_management_capability()?.count_blocked().await) };
    if let Called::Answered(Some(Ok(counts))) =
        core.caller.call(Operation::CountBlocked, PATIENCE, call.boxed()).await
    {
        for kind in BlockKind::ALL {
            let count =
                counts.by_kind.iter().find(|(counted, _)| *counted == kind).map_or(0, |(_, count)| *count);
            core.metrics.set_instances_blocked(kind.as_str(), count);
        }
        core.blocked.set(counts);
    }
}

fn count(depth: usize) -> u64 {
    u64::try_from(depth).unwrap_or(u64::MAX)
}

async fn forget_sessions(core: &Arc<Core>) {
    let (store, idle) = (Arc::clone(&core.store), core.settings.session_idle_timeout);
    let call = async move { store.cleanup_orphaned_sessions(idle).await };
    let called = core.caller.call(Operation::CleanupOrphanedSessions, PATIENCE, call.boxed()).await;
    if let Called::Answered(Err(error)) = called {
        debug!(target: "abide::runtime", %error, "sessions could not be cleaned up; the next round will");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a chore of a minute is done within this time, if so much has been done at each minute.
    fn done_at(minutes: u64, work: impl Fn(u64) -> Option<u64>) -> Vec<u64> {
        done_with(Duration::ZERO, minutes, work)
    }

    fn done_with(aftermath: Duration, minutes: u64, work: impl Fn(u64) -> Option<u64>) -> Vec<u64> {
        let minute = Duration::from_secs(60);
        let mut chore = Chore::new(Duration::ZERO, minute, aftermath);
        let minutes = (0..=minutes).map(|nth| (nth, minute * u32::try_from(nth).expect("a few")));
        minutes
            .filter(|(nth, now)| chore.is_due(*now, work(*nth)) != Due::NotYet)
            .map(|(nth, _)| nth)
            .collect()
    }

    #[test]
    fn a_busy_node_does_it_every_time_and_an_idle_one_every_tenth() {
        assert_eq!(done_at(4, Some), [1, 2, 3, 4]);
        assert_eq!(done_at(25, |_| Some(0)), [10, 20]);
        assert_eq!(done_at(30, |minute| Some(u64::from(minute >= 3))), [3, 13, 23]);
        let aftermath = Duration::from_secs(150);
        assert_eq!(done_with(aftermath, 20, |minute| Some(u64::from(minute >= 4))), [1, 2, 4, 5, 6, 16]);
        assert_eq!(
            done_at(3, |_| None),
            [1, 2, 3],
            "a node that runs nothing is not idle, but somebody else's window"
        );
    }
}
