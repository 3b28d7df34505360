//! The lane of activities: leased, run, and their results told.
//!
//! [`Worker::work`] is the way of one activity. How it is run is in `execute.rs`, what it is told at its start in `start.rs`, why
//! it is stopped in `stopping.rs`, who tells it so in `running.rs` and `watch.rs`, how its result becomes durable in `finish.rs`,
//! which sessions are ours in `session.rs`.
//!
//! Deliberately absent: removing an activity without a result. Only the turn that cancels it does that.

mod activity;
mod execute;
mod finish;
mod quarantine;
mod running;
mod session;
mod start;
mod stopping;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_provider::{
    LeaseWork, Operation, Provider, ProviderError, SessionFetchConfig, StolenLeases, StoreError, WorkLease,
};
use futures_util::future::{BoxFuture, Either, FutureExt, select};
use tokio::sync::{Notify, Semaphore};
use tracing::{Instrument, warn};

use self::activity::Activity;
use self::finish::Taken;
use self::running::Running;
pub(crate) use self::session::keep_sessions;
use self::session::{Admission, Room, Sessions, Ticket, Turn};
pub(crate) use self::watch::{listen, watch};
use crate::ProblemPolicy;
use crate::chances::Verdict;
use crate::core::Core;
use crate::crowd::Served;
use crate::dispatch::{GiveBack, Lane, Next, Slot, give_back};
use crate::orchestrator::Orchestrator;
use crate::renewal::{Lease, LeaseGuard, Leased};
use crate::serving::LeaseCall;
use crate::suspects::{ANOTHER_SUSPECT, SuspectAdmission};
use crate::task_state::TaskState;
use crate::unregistered::UnregisteredBackoff;

/// So many finished activities per slot may wait for the store to take their result.
const UNACKNOWLEDGED_PER_SLOT: usize = 4;
/// A session that is one too many is left to others for this long.
const SESSION_TOO_MANY: Duration = Duration::from_millis(100);

/// Runs activities.
pub(crate) struct Worker {
    core: Arc<Core>,
    turns: Arc<Orchestrator>,
    client: Client,
    pub(crate) sessions: Sessions,
    /// How long activities wait whose handler is not registered here.
    unregistered: UnregisteredBackoff,
    running: Running,
    unacknowledged: Arc<Semaphore>,
    node: String,
}

/// Something leased from the queue of activities.
pub(crate) enum Job {
    /// An activity, and whether it may run.
    Activity {
        activity: Arc<Activity>,
        renewed: LeaseGuard,
        slot: Slot,
        admission: Admission,
        suspect: SuspectAdmission,
    },
    /// It is no activity.
    Misrouted { lease: Box<WorkLease>, slot: Slot },
}

impl Worker {
    pub(crate) fn new(core: Arc<Core>, turns: Arc<Orchestrator>, client: Client) -> Self {
        let slots = core.settings.worker_concurrency;
        let node = core.settings.worker_node_id.clone().unwrap_or_else(|| core.id.clone());
        Self {
            turns,
            client,
            sessions: Sessions::new(&core.settings, Arc::clone(&core.clock)),
            running: Running::default(),
            unregistered: UnregisteredBackoff::default(),
            unacknowledged: Arc::new(Semaphore::new(slots.saturating_mul(UNACKNOWLEDGED_PER_SLOT).max(1))),
            node,
            core,
        }
    }

    /// What the store tells of leases taken away, if it does.
    pub(crate) fn stolen_leases(&self) -> Option<StolenLeases> {
        self.core.store.stolen_leases()
    }

    /// Who claims sessions.
    pub(crate) fn owner(&self) -> &str {
        &self.node
    }

    /// One activity, from its lease to its result.
    async fn work(
        self: Arc<Self>,
        activity: Arc<Activity>,
        renewed: LeaseGuard,
        slot: Slot,
        (admission, suspect): (Admission, SuspectAdmission),
    ) {
        let settings = &self.core.settings;
        let task = Arc::clone(renewed.task());
        let _permit = match suspect {
            SuspectAdmission::Admitted(None) => None,
            SuspectAdmission::Admitted(Some(permit)) => {
                Box::pin(permit.alone(&self.core.caller)).await;
                Some(task.run_suspect(permit))
            }
            SuspectAdmission::AnotherSuspect(_until_it_is_given_back) => {
                return Box::pin(self.hand_back(&activity, GiveBack::untried(ANOTHER_SUSPECT))).await;
            }
        };
        let most =
            if self.counts_misses(&activity) { settings.max_attempts } else { settings.most_attempts() };
        let verdict = self.core.chances.judge(activity.key(), activity.attempt, most);
        let back = match admission {
            Admission::Now(ticket) => {
                return self.admitted(activity, renewed, (slot, ticket), verdict).await;
            }
            Admission::After(turn) => {
                drop(slot);
                match Box::pin(self.wait_for(turn)).await {
                    Some(admitted) => return self.admitted(activity, renewed, admitted, verdict).await,
                    None => GiveBack::UNTRIED,
                }
            }
            Admission::TooManySessions => GiveBack::untried(SESSION_TOO_MANY),
            Admission::TooManyWaiting { delay } => GiveBack::untried(delay),
        };
        Box::pin(self.hand_back(&activity, back)).await;
    }

    async fn admitted(
        &self,
        activity: Arc<Activity>,
        renewed: LeaseGuard,
        (slot, ticket): (Slot, Ticket),
        verdict: Verdict,
    ) {
        match verdict {
            Verdict::Poison => {
                Box::pin(self.poison(&activity)).await;
                ticket.pass_on(Some(slot));
            }
            Verdict::Try => {
                if activity.is_suspect()
                    && let Err(back) = Box::pin(self.core.begin_suspect(Self::QUEUE, &activity.token)).await
                {
                    Box::pin(self.hand_back(&activity, back)).await;
                    return ticket.pass_on(Some(slot));
                }
                self.execute(activity, renewed, slot, ticket).await;
            }
        }
    }

    /// Waits until the session of an activity is free. `None`: the activity cannot run here.
    async fn wait_for(&self, turn: Turn) -> Option<(Slot, Ticket)> {
        let ending = Box::pin(self.core.stop.ending.cancelled());
        match select(Box::pin(turn.comes()), ending).await {
            Either::Left((admitted, _)) => admitted,
            Either::Right(_) => None,
        }
    }

    /// It was under way in too many crashes, or its handler was missing too often: it fails, or, after
    /// crashes, an operator decides.
    async fn poison(&self, activity: &Activity) {
        let blocks = self.core.settings.problem_policies.crashes == ProblemPolicy::Block;
        if blocks && !self.counts_misses(activity) {
            return self.quarantine(activity).await;
        }
        warn!(target: "abide::runtime", instance_id = %activity.instance, activity_name = %activity.name,
            attempt = activity.attempt, "the activity was tried too often; it fails");
        let completion = activity.poison(self.core.settings.max_attempts);
        if self.finish(activity, completion).await == Taken::Yes {
            self.core.chances.forget(activity.key());
            self.core.metrics.record_activity_poison();
        }
    }

    /// Something that is no activity has no business here; nothing is known that could be told to anybody.
    async fn misrouted(self: Arc<Self>, lease: WorkLease, slot: Slot) {
        warn!(target: "abide::runtime", kind = abide_model::kind_of(&lease.item), "not an activity; left in the queue");
        let delay = self.core.settings.unregistered_backoff.delay(lease.attempt);
        give_back::<Self>(&self.core, lease.token, GiveBack::tried(delay)).await;
        drop(slot);
    }

    async fn hand_back(&self, activity: &Activity, back: GiveBack) {
        self.core.chances.handed_back(activity.key(), back.attempt);
        give_back::<Self>(&self.core, activity.token.clone(), back).await;
    }
}

impl Lane for Worker {
    type Lease = WorkLease;
    type Job = Job;

    const NAME: &'static str = "activities";
    const LEASE: Operation = Operation::LeaseWork;
    const ABANDON: Operation = Operation::AbandonWorkItem;
    const QUEUE: abide_provider::Lane = abide_provider::Lane::Work;

    fn slots(&self) -> usize {
        self.core.settings.worker_concurrency
    }

    fn limit(&self, free: usize) -> usize {
        match self.sessions.room() {
            Room::For(more) => free.min(more),
            Room::Unused | Room::None | Room::Never => free,
        }
    }

    fn lease(
        self: Arc<Self>,
        LeaseCall { limit, wait, serving }: LeaseCall,
    ) -> BoxFuture<'static, Result<Vec<WorkLease>, StoreError>> {
        let settings = &self.core.settings;
        let own =
            SessionFetchConfig { owner_id: self.node.clone(), lock_timeout: settings.session_lock_timeout };
        let (wait, session) = match self.sessions.room() {
            Room::Unused => (wait, Some(own)),
            Room::For(more) if limit <= more => (wait, Some(own)),
            // A call that waits without a session would not see that there is room again.
            Room::For(_) | Room::None => (wait.min(settings.dispatcher_min_poll_interval), None),
            Room::Never => (wait, None),
        };
        let request = LeaseWork {
            limit,
            lease_for: settings.worker_lock_timeout,
            wait,
            session,
            tags: settings.worker_tag_filter.clone(),
            serving,
        };
        let store = Arc::clone(&self.core.store);
        async move { store.lease_work(request).await }.boxed()
    }

    fn take_on(&self, Next { lease, granted, slot }: Next<WorkLease>) -> Job {
        let activity = match Activity::of(lease, granted) {
            Ok(activity) => Arc::new(activity),
            Err(lease) => return Job::Misrouted { lease, slot },
        };
        let settings = &self.core.settings;
        let keep = Lease {
            on: Leased::Work,
            token: activity.token.clone(),
            lasts: settings.worker_lock_timeout,
            interval: settings.worker_renewal_interval,
        };
        let task = TaskState::new(Arc::clone(&self.core.executor));
        let renewed = self.core.renewals.hold(keep, granted.by, Arc::<Activity>::clone(&activity), task);
        let admission = self.sessions.enter(activity.session.as_deref());
        // What runs no code here cannot crash this node.
        let suspect = if self.counts_misses(&activity) {
            SuspectAdmission::Admitted(None)
        } else {
            self.core.serving.admit_activity(activity.attempt)
        };
        Job::Activity { activity, renewed, slot, admission, suspect }
    }

    fn task(job: &Job) -> Option<&Arc<TaskState>> {
        match job {
            Job::Activity { renewed, .. } => Some(renewed.task()),
            Job::Misrouted { .. } => None,
        }
    }

    async fn run(self: Arc<Self>, job: Job) -> Option<Next<WorkLease>> {
        match job {
            Job::Activity { activity, renewed, slot, admission, suspect } => {
                let span = activity.span();
                self.work(activity, renewed, slot, (admission, suspect)).instrument(span).await;
            }
            Job::Misrouted { lease, slot } => Box::pin(self.misrouted(*lease, slot)).await,
        }
        None
    }

    fn token(lease: &WorkLease) -> String {
        lease.token.clone()
    }

    fn abandon(
        store: Arc<dyn Provider>,
        token: String,
        back: GiveBack,
    ) -> BoxFuture<'static, Result<(), ProviderError>> {
        async move { store.abandon_work_item(&token, back.delay, back.ignores_attempt()).await }.boxed()
    }

    fn news(core: &Core) -> &Notify {
        &core.new_work
    }

    fn note_served(core: &Core, call: Served) {
        core.crowd.served(call);
    }

    fn count_leased(core: &Core, leased: u64) {
        core.metrics.record_worker_dispatcher_items_fetched(leased);
    }

    fn count_worked(core: &Core, millis: u64) {
        core.metrics.record_worker_dispatcher_execution_duration(millis);
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("node", &self.node).finish_non_exhaustive()
    }
}
