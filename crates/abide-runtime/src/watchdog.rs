//! The watchdog: notices what makes no progress, on a thread that no user code can hold up.
//!
//! While leases are held it looks at their tasks:
//!
//! * A lease whose task nobody polls for a quarter of its time goes back to the store, not counted as an attempt: another node may have a
//!   thread for it. Before that, this node gives up its own calls for leases, or it would get the lease again.
//! * A turn or an activity that does not yield is told of, after [`NOT_YIELDING`] and then every minute.
//! * A turn that does not yield for `max_turn_time` is not renewed any more: its lease runs out and counts, as after a crash.
//!
//! With its lease a suspect gives up the right to be the only one of the node: another may run, although its thread is blocked.
//!
//! If the executor does not answer for [`PATIENCE`], this node leases nothing until it does. The watchdog also counts the time of a
//! shutdown, and names what did not stop.
//!
//! An activity is renewed for as long as it takes. A time after which a silent one is given up belongs into [`Watchdog::judge`], beside
//! the limit for turns.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Operation, ProviderError};
use futures_util::future::{BoxFuture, FutureExt, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tracing::warn;

use crate::core::Core;
use crate::health::LongPoll;
use crate::renewal::{Entry, Fate, Keep, Lease, Leased, Subject};
use crate::task_state::Doing;

/// A poll that takes so long is told of.
const NOT_YIELDING: Duration = Duration::from_secs(5);

/// And so long after that again.
const REMINDER: Duration = Duration::from_secs(60);

/// A poll that takes so long, or is waited for so long, is a reason to ask the executor; and so long it has to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest time between two looks.
const LONGEST_TICK: Duration = Duration::from_millis(500);
const SHORTEST_TICK: Duration = Duration::from_millis(5);

/// So long after a runtime gave up, everything that hears of it has handed its lease back. What is left does not hear.
const DEAF: Duration = Duration::from_millis(3_500);

/// And so long after it gave up a shutdown returns: within 5 seconds.
const LEFT_BEHIND: Duration = Duration::from_millis(4_600);

/// So long a lease waits for our own calls for leases to be over before it is given back.
const LAST_CALLS: Duration = Duration::from_millis(300);

/// Watches until nothing runs for the runtime any more.
pub(crate) async fn keep_watch(core: Arc<Core>) {
    let stop = &core.stop;
    let mut dog = Watchdog::new(Arc::clone(&core));
    while !stop.drained.is_cancelled() {
        let now = core.clock.monotonic();
        dog.look(now);
        dog.stop(now);
        let next = dog.next(now);
        let time = async {
            match next {
                Some(at) => core.clock.sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let told =
            select(Box::pin(core.renewals.first.notified()), Box::pin(stop.deadline.is_set.notified()));
        let events = select(select(Box::pin(time), told), Box::pin(stop.drained.cancelled()));
        if dog.returns.is_empty() {
            let _any = events.await;
        } else {
            let _any = select(dog.returns.next(), events).await;
        }
    }
    // Each has a limit of its own.
    while dog.returns.next().await.is_some() {}
}

/// For how long the executor has not answered, if it should have.
pub(crate) fn executor_silent_for(core: &Core, now: Duration) -> Option<Duration> {
    core.executor.unanswered_for(now).filter(|silent_for| *silent_for >= PATIENCE)
}

/// The poll that has lasted for longest, of those that are told of.
pub(crate) fn longest_poll(core: &Core, now: Duration) -> Option<LongPoll> {
    let mut longest: Option<LongPoll> = None;
    core.renewals.retain(|entry| {
        let poll = Poll::of(entry).filter(|poll| poll.lasts(now) >= NOT_YIELDING);
        if let Some(poll) = poll
            && longest.as_ref().is_none_or(|longest| poll.lasts(now) > longest.lasts)
        {
            longest = Some(LongPoll {
                instance: entry.subject.instance().to_owned(),
                orchestration: entry.subject.orchestration(),
                activity: poll.activity_of(&*entry.subject).map(str::to_owned),
                lasts: poll.lasts(now),
            });
        }
        Keep::Yes
    });
    longest
}

struct Watchdog {
    core: Arc<Core>,
    tick: Duration,
    last_look: Duration,
    /// People were told that the executor is silent.
    told_of_silence: bool,
    /// Leases that are being given back.
    returns: FuturesUnordered<BoxFuture<'static, ()>>,
    /// What did not hear that the runtime gives up.
    deaf: Option<Vec<Unstopped>>,
}

/// Work on a lease that did not stop.
struct Unstopped {
    subject: Arc<dyn Subject>,
    fate: Fate,
    poll: Option<Poll>,
}

/// A poll of user code that is under way.
#[derive(Debug, Clone, Copy)]
struct Poll {
    since: Duration,
    /// Whether that is a turn, which an activity's task may run too.
    is_turn: bool,
}

impl Poll {
    fn of(entry: &Entry) -> Option<Self> {
        let Doing::InPoll { since } = entry.fate.task.doing() else { return None };
        Some(match (entry.lease.on, entry.fate.task.in_turn_since()) {
            (Leased::Instance, _) => Self { since, is_turn: true },
            (Leased::Work, Some(since)) => Self { since, is_turn: true },
            (Leased::Work, None) => Self { since, is_turn: false },
        })
    }

    const fn lasts(self, now: Duration) -> Duration {
        now.saturating_sub(self.since)
    }

    fn activity_of(self, subject: &dyn Subject) -> Option<&str> {
        subject.activity().filter(|_| !self.is_turn)
    }

    fn tell(self, subject: &dyn Subject, now: Duration) {
        let (instance, orchestration) = (subject.instance(), subject.orchestration());
        let lasts = self.lasts(now);
        match self.activity_of(subject) {
            Some(activity) => {
                warn!(target: "abide::runtime", instance_id = %instance, orchestration_name = %orchestration,
                    activity_name = %activity, ?lasts,
                    "the activity has not yielded for {lasts:.1?} and blocks a thread of the executor; blocking code belongs \
                     into `tokio::task::spawn_blocking`");
            }
            None => {
                warn!(target: "abide::runtime", instance_id = %instance, orchestration_name = %orchestration, ?lasts,
                    "a turn of the orchestration has not yielded for {lasts:.1?} and blocks a thread of the executor; \
                     orchestration code must not block or compute for long, an activity can");
            }
        }
    }
}

/// What one look came to.
#[derive(Default)]
struct Round {
    was_stopped: bool,
    /// Is there a reason to ask the executor?
    is_suspicious: bool,
    unpolled: Vec<(Lease, Fate)>,
    told: Vec<(Arc<dyn Subject>, Poll)>,
    too_long: Vec<(Arc<dyn Subject>, Poll)>,
}

impl Watchdog {
    fn new(core: Arc<Core>) -> Self {
        let settings = &core.settings;
        let shortest = settings.orchestrator_lock_timeout.min(settings.worker_lock_timeout);
        Self {
            tick: (shortest / 8).clamp(SHORTEST_TICK, LONGEST_TICK),
            last_look: core.clock.monotonic(),
            told_of_silence: false,
            returns: FuturesUnordered::new(),
            deaf: None,
            core,
        }
    }

    /// When to look again; `None` if there is nothing to look at.
    fn next(&self, now: Duration) -> Option<Duration> {
        let deadline = self.core.stop.deadline.get();
        let next_stop = deadline.map(|at| [at, at.saturating_add(DEAF), at.saturating_add(LEFT_BEHIND)]);
        let next_stop = next_stop.into_iter().flatten().find(|at| *at > now);
        let is_idle = self.core.renewals.are_none() && self.core.executor.unanswered_for(now).is_none();
        let next_look = (!is_idle).then(|| now.saturating_add(self.tick));
        next_look.into_iter().chain(next_stop).min()
    }

    fn look(&mut self, now: Duration) {
        // A process that was stopped for a while has polled nothing. Whoever is late now may be polled at any moment.
        let was_stopped = now.saturating_sub(self.last_look) > self.tick.saturating_mul(2);
        self.last_look = now;
        let mut round = Round { was_stopped, ..Round::default() };
        self.core.renewals.retain(|entry| self.judge(entry, now, &mut round));
        for (subject, poll) in &round.told {
            poll.tell(&**subject, now);
        }
        for (subject, poll) in &round.too_long {
            warn!(target: "abide::runtime", instance_id = %subject.instance(),
                orchestration_name = %subject.orchestration(), lasts = ?poll.lasts(now),
                "a turn has taken longer than max_turn_time; its lease is not renewed any more, and it counts as a crash");
        }
        if round.is_suspicious {
            self.core.executor.ask();
        }
        self.give_back_unpolled(round.unpolled);
        self.hear_executor(now);
    }

    /// What becomes of a lease.
    fn judge(&self, entry: &mut Entry, now: Duration, round: &mut Round) -> Keep {
        let quarter = entry.lease.lasts / 4;
        let doing = entry.fate.task.doing();
        let is_unpolled = doing == Doing::Unpolled;
        let late_since = match doing {
            Doing::Unpolled => entry.granted,
            Doing::Woken { at } => at,
            Doing::Waits => return Keep::Yes,
            Doing::InPoll { .. } => return self.judge_poll(entry, now, round),
        };
        let late_for = now.saturating_sub(late_since);
        round.is_suspicious |= late_for >= PATIENCE;
        let is_late = late_for >= quarter && !round.was_stopped;
        // One that is polled just now keeps its lease.
        if !is_late || (is_unpolled && !entry.fate.task.take_unpolled()) {
            return Keep::Yes;
        }
        round.unpolled.push((entry.lease.clone(), entry.fate.clone()));
        Keep::No
    }

    fn judge_poll(&self, entry: &mut Entry, now: Duration, round: &mut Round) -> Keep {
        let Some(poll) = Poll::of(entry) else { return Keep::Yes };
        let lasts = poll.lasts(now);
        round.is_suspicious |= lasts >= PATIENCE;
        let tell_at = match entry.told {
            Some((since, again_at)) if since == poll.since => again_at,
            Some(_) | None => poll.since.saturating_add(NOT_YIELDING),
        };
        if now >= tell_at {
            entry.told = Some((poll.since, now.saturating_add(REMINDER)));
            round.told.push((Arc::clone(&entry.subject), poll));
        }
        if poll.is_turn && lasts >= self.core.settings.max_turn_time && !entry.runs_out {
            entry.runs_out = true;
            entry.fate.task.overrun();
            entry.fate.task.release_suspect_permit();
            round.too_long.push((Arc::clone(&entry.subject), poll));
        }
        Keep::Yes
    }

    /// Gives leases back whose tasks nobody polls.
    fn give_back_unpolled(&self, unpolled: Vec<(Lease, Fate)>) {
        if unpolled.is_empty() {
            return;
        }
        warn!(target: "abide::runtime", leases = unpolled.len(),
            "the executor did not get to the tasks of these leases in time; they go back, and other nodes may take them");
        // First of all: a call of ours that waits in the store would get them.
        self.core.executor.suspend();
        for (lease, fate) in unpolled {
            self.give_back(lease, &fate);
        }
    }

    fn give_back(&self, lease: Lease, fate: &Fate) {
        fate.lost.cancel();
        fate.task.release_suspect_permit();
        self.core.renewals.losses.notify_one();
        let core = Arc::clone(&self.core);
        let back = async move {
            let limit = core.clock.sleep_until(core.clock.monotonic().saturating_add(LAST_CALLS));
            let _either = select(Box::pin(core.executor.leasing.wait()), limit).await;
            let operation = match lease.on {
                Leased::Instance => Operation::AbandonOrchestrationItem,
                Leased::Work => Operation::AbandonWorkItem,
            };
            core.give_back(operation, || abandon(&core, &lease)).await;
        };
        self.returns.push(back.boxed());
    }

    /// Tells of an executor that does not answer, and leases nothing until it does.
    fn hear_executor(&mut self, now: Duration) {
        let Some(silent_for) = executor_silent_for(&self.core, now) else {
            self.told_of_silence = false;
            return;
        };
        self.core.executor.suspend();
        if !std::mem::replace(&mut self.told_of_silence, true) {
            warn!(target: "abide::runtime", ?silent_for,
                "the executor does not run its tasks: code blocks its threads; this node leases nothing until it does");
        }
    }

    /// Does what is due of a shutdown.
    fn stop(&mut self, now: Duration) {
        let Some(deadline) = self.core.stop.deadline.get().filter(|deadline| now >= *deadline) else {
            return;
        };
        self.core.stop.giving_up.cancel();
        if now >= deadline.saturating_add(DEAF) && self.deaf.is_none() {
            self.deaf = Some(self.hand_all_back());
        }
        if now >= deadline.saturating_add(LEFT_BEHIND) {
            self.tell_left_behind(now);
            self.core.stop.left_behind.cancel();
            // Nothing serves what is left: it holds no lease any more.
            self.core.stop.drained.cancel();
        }
    }

    /// Gives back whatever is still held.
    fn hand_all_back(&self) -> Vec<Unstopped> {
        let mut held = Vec::new();
        self.core.renewals.retain(|entry| {
            let _if_unpolled = entry.fate.task.take_unpolled();
            let unstopped = Unstopped {
                subject: Arc::clone(&entry.subject),
                fate: entry.fate.clone(),
                poll: Poll::of(entry),
            };
            held.push((entry.lease.clone(), unstopped));
            Keep::No
        });
        let back = held.into_iter().map(|(lease, unstopped)| {
            self.give_back(lease, &unstopped.fate);
            unstopped
        });
        back.collect()
    }

    fn tell_left_behind(&self, now: Duration) {
        let unstopped = self.deaf.iter().flatten().filter(|unstopped| !unstopped.fate.task.has_ended());
        for Unstopped { subject, poll, .. } in unstopped {
            let activity = poll.map_or_else(|| subject.activity(), |poll| poll.activity_of(&**subject));
            warn!(target: "abide::runtime", instance_id = %subject.instance(),
                orchestration_name = %subject.orchestration(), activity_name = activity,
                not_yielded_for = ?poll.map(|poll| poll.lasts(now)),
                "did not stop; the shutdown does not wait for it, and its lease was handed back");
        }
        let tasks = self.core.stop.tasks.len();
        if tasks > 0 {
            warn!(target: "abide::runtime", tasks, "the shutdown ends although tasks of the runtime have not ended");
        }
    }
}

fn abandon(core: &Core, lease: &Lease) -> BoxFuture<'static, Result<(), ProviderError>> {
    let (store, token, on) = (Arc::clone(&core.store), lease.token.clone(), lease.on);
    async move {
        match on {
            Leased::Instance => store.abandon_orchestration_item(&token, None, true).await,
            Leased::Work => store.abandon_work_item(&token, None, true).await,
        }
    }
    .boxed()
}
