//! The lane of turns: a leased instance is run and committed.
//!
//! Start with [`Orchestrator::turn`]. What a lease is about is decided in `plan.rs`, how its execution is brought up to date
//! in `load.rs`, what is written in `commit.rs`, turns that come with a finished activity in `fused.rs`, what is pruned in `prune.rs` and `prune_with_commit.rs`; ends that the code did not
//! choose are in `failure.rs`, whom to tell of them in `parent.rs`, and what is taken back after them in
//! `revoke.rs`.
//!
//! What seldom happens is boxed where it is called: a task stays, and is as large as the largest thing it may wait for.
//!
//! Deliberately absent: the rules of replay. They are the engine's.

mod blocked;
mod cache;
mod commit;
mod failure;
mod fused;
mod load;
mod parent;
mod plan;
mod prune;
mod prune_with_commit;
mod report;
mod revoke;
mod weight;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use abide_engine::{HostCall, Identity, Outcome, Step, TurnOutput, answer_late_mail};
use abide_model::{INITIAL_EXECUTION_ID, Timestamp};
use abide_provider::{
    Ability, InstanceLease, LeaseInstances, NextLease, Operation, Position, Provider, ProviderError,
    StoreError,
};
use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, debug, info_span, warn};

use self::blocked::{Obstacle, Refusal, cancel_reason, still_refused};
use self::cache::{Cache, Life, Resident};
use self::commit::{Answer, CommitEnd, NextTurn, Written, commit_of};
pub(crate) use self::fused::{FinishedStep, Fused};
use self::load::Hindrance;
use self::plan::{Stage, mail_of, resolve};
use self::prune::Promises;
use self::revoke::LateWork;
use crate::OrchestrationHandler;
use crate::ProblemPolicy;
use crate::chances::Verdict;
use crate::core::Core;
use crate::dispatch::{Attempt, GiveBack, Lane, Next, Slot, give_back};
use crate::recurrence::Recurrences;
use crate::renewal::{Lease, LeaseGuard, Leased, Subject};
use crate::serving::LeaseCall;
use crate::store_time::{HandedOver, StoreTime};
use crate::suspects::{ANOTHER_SUSPECT, SuspectAdmission};
use crate::tally::Tally;
use crate::task_state::TaskState;
use crate::unregistered::UnregisteredBackoff;
use crate::unserved::{self, Missing};

/// What the store refuses now is asked for again after this time, and so is an incompatible or unreadable history.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What the store has another history of is replayed after this time; if that happens again, after twice as long.
const AFTER_CONFLICT: Duration = Duration::from_millis(50);

/// In a crowd of activities one call takes up at most so many instances: enough for whoever needs no activity, and where calls take about as long
/// as each other, less begins than is done.
const TAKEN_UP_IN_A_CROWD: usize = 16;

/// Runs turns.
pub(crate) struct Orchestrator {
    core: Arc<Core>,
    cache: Cache,
    /// How long running instances wait whose code is not registered here.
    unregistered: UnregisteredBackoff,
    /// How often in a row the store had another history of an instance.
    conflicts: Recurrences,
    /// How many of its next steps each instance has not fused, because it had mail when the last one was.
    refusals: Tally<String>,
    /// The store did not prune when it was last asked to.
    prunes_nothing: AtomicBool,
}

/// A leased instance, and what goes with the lease.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    lease: Arc<InstanceLease>,
    /// By which its turns tell the time.
    time: StoreTime,
    /// Raised when it is known that somebody else may have it.
    lost: CancellationToken,
    /// The task of its turn.
    task: Arc<TaskState>,
}

/// A leased instance whose lease is renewed.
#[derive(Debug)]
pub(crate) struct Job {
    lease: Arc<InstanceLease>,
    granted: HandedOver,
    slot: Slot,
    renewed: LeaseGuard,
    suspect: SuspectAdmission,
}

/// What is left to do for a turn once it is committed.
struct Decided {
    told: report::Told,
    sends_mail: bool,
    sends_work: bool,
    missing: Vec<Missing>,
}

impl Decided {
    /// What a turn decided, which the execution takes note of.
    fn of(core: &Core, resident: &mut Resident, output: &TurnOutput) -> Self {
        resident.life.turns = resident.life.turns.saturating_add(1);
        let mut answered = Vec::new();
        for event in &output.events {
            resident.weight.note(event);
            answered.extend(resident.life.note(event));
        }
        let last = output.events.last().map_or(resident.position.last_event_id, abide_model::Event::event_id);
        resident.position = Position { last_event_id: last, ..resident.position };
        Self {
            told: report::Told::of(output, &resident.life, last).with_children(answered),
            sends_mail: !output.orchestrator_items.is_empty(),
            sends_work: !output.worker_items.is_empty(),
            missing: Missing::of(core, output),
        }
    }
}

impl Orchestrator {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let cache = Cache::new(core.settings.instance_cache_bytes);
        Self {
            core,
            cache,
            unregistered: UnregisteredBackoff::default(),
            conflicts: Recurrences::default(),
            refusals: Tally::default(),
            prunes_nothing: AtomicBool::new(false),
        }
    }

    /// One turn, from the lease to the commit, with which the next one may come.
    async fn turn(&self, held: Held, stage: Stage, suspect: SuspectAdmission) -> Option<NextTurn> {
        let lease = &held.lease;
        let permit = match suspect {
            SuspectAdmission::Admitted(None) => None,
            SuspectAdmission::Admitted(Some(permit)) => {
                Box::pin(permit.alone(&self.core.caller)).await;
                Some(held.task.run_suspect(permit))
            }
            SuspectAdmission::AnotherSuspect(_until_it_is_given_back) => {
                Box::pin(self.hand_back(lease, GiveBack::untried(ANOTHER_SUSPECT))).await;
                return None;
            }
        };
        match (Refusal::of(lease, &self.core), cancel_reason(lease)) {
            (Refusal::None, _) | (Refusal::RetryIsDue, None) => {}
            // Its code may compensate, here or on a build that has healed it. If it refuses again, the store keeps that,
            // and the cancel comes back where no build is left.
            (Refusal::RetryIsDue, Some(_)) if self.keeps_another_refusal(lease) => {}
            (Refusal::RetryIsDue | Refusal::Stands, Some(reason)) => {
                Box::pin(self.cancel_without_code(&held, stage, reason)).await;
                return None;
            }
            (Refusal::Stands, None) => {
                warn!(target: "abide::runtime", instance_id = %lease.instance, retry_in = ?LOOK_AGAIN,
                    "leased an instance that this build has refused, and no cancel is among its messages; handing it back");
                Box::pin(self.hand_back(lease, GiveBack::untried(LOOK_AGAIN))).await;
                return None;
            }
        }
        let most = self.most_attempts_on(lease);
        if self.core.chances.judge(&lease.instance, lease.attempt, most) == Verdict::Poison {
            Box::pin(self.poison(&held, stage)).await;
            return None;
        }
        if permit.is_some()
            && let Err(back) = Box::pin(self.core.begin_suspect(Self::QUEUE, &lease.token)).await
        {
            Box::pin(self.hand_back(lease, back)).await;
            return None;
        }
        match stage {
            Stage::Begins { who } => match self.code_of(who) {
                Ok((who, code)) => {
                    let loaded = self.fresh(lease, who.clone(), code).await;
                    return self.run_loaded(&held, who, loaded).await;
                }
                Err(who) => Box::pin(self.begin_without_code(&held, who)).await,
            },
            Stage::GoesOn { who } => match self.code_of(who) {
                Ok((who, code)) => {
                    let loaded = self.resumed(lease, who.clone(), code).await;
                    return self.run_loaded(&held, who, loaded).await;
                }
                // The instance was healthy where its code is known: it waits for that code, however long.
                Err(who) => Box::pin(self.unregistered(&held, who, Attempt::DoesNotCount)).await,
            },
            Stage::Gap { who } => {
                debug!(target: "abide::runtime", instance_id = %who.instance, "its successor's start is not here yet");
                let delay = self.core.settings.unregistered_backoff.delay(lease.attempt);
                Box::pin(self.hand_back(lease, GiveBack::without_crash(&self.core.settings, delay))).await;
            }
            Stage::Over { who, outcome } => Box::pin(self.late_mail(&held, who, outcome)).await,
            Stage::Nothing { who } => {
                warn!(target: "abide::runtime", instance_id = %who.instance, messages = lease.messages.len(),
                    "mail for an instance that does not exist is dropped, and nothing is about to start it");
                Box::pin(self.late_mail(&held, who, Outcome::Running)).await;
            }
        }
        None
    }

    /// Whether the store remembers it if the code of a lease, which is tried again, refuses again.
    fn keeps_another_refusal(&self, lease: &InstanceLease) -> bool {
        self.core.abilities.has(Ability::Blocking)
            && lease.refused.as_ref().is_some_and(|refused| refused.is_retry_due)
    }

    fn code_of(&self, mut who: Identity) -> Result<(Identity, Arc<dyn OrchestrationHandler>), Identity> {
        match resolve(&self.core.orchestrations, &mut who) {
            Some(code) => Ok((who, code)),
            None => Err(who),
        }
    }

    /// Runs a turn of what was loaded, if it could be.
    async fn run_loaded(
        &self,
        held: &Held,
        who: Identity,
        loaded: Result<Box<Resident>, Hindrance>,
    ) -> Option<NextTurn> {
        match loaded {
            Ok(resident) => self.run_turn(held, who, resident).await,
            Err(hindrance) => {
                let waits = self.core.settings.problem_policies.missing == ProblemPolicy::Block;
                let is_pin = matches!(hindrance, Hindrance::Incompatible { .. });
                match cancel_reason(&held.lease).filter(|_| waits && is_pin) {
                    // The store grants it here because no live node can replay it.
                    Some(reason) => {
                        Box::pin(self.cancel_without_code(held, Stage::of(&held.lease), reason)).await;
                    }
                    None => Box::pin(self.hindered(held, &who, hindrance)).await,
                }
                None
            }
        }
    }

    /// Feeds the mail, and commits what the code decided.
    async fn run_turn(&self, held: &Held, who: Identity, mut resident: Box<Resident>) -> Option<NextTurn> {
        let lease = &held.lease;
        let mail = mail_of(&lease.messages);
        let now = resident.life.not_before_latest(self.now(held));
        let mut step = resident.execution.turn(mail, now);
        let mut promises = Promises::default();
        let mut output = loop {
            match step {
                Ok(Step::Done(output)) => break output,
                Ok(Step::HostCall(HostCall::Prune { options })) => {
                    match Box::pin(self.prune_in_turn(held, &who, options, &mut promises)).await {
                        Ok(answer) => step = resident.execution.resume(answer),
                        Err(end) => {
                            let _nothing = Box::pin(self.settle(held, &who, end)).await;
                            return None;
                        }
                    }
                }
                Err(error) => {
                    warn!(target: "abide::runtime", instance_id = %who.instance, %error, "a turn could not be run");
                    Box::pin(self.hand_back(lease, GiveBack::without_crash(&self.core.settings, LOOK_AGAIN)))
                        .await;
                    return None;
                }
            }
        };
        if let Some(obstacle) = Obstacle::of(&output, self.core.settings.problem_policies) {
            // Another build may be able to compensate. Where blocks are kept, a cancel goes to a node that has
            // such a build, and ends the instance without code only if there is none.
            let keeps_blocks = self.core.abilities.has(Ability::Blocking);
            match cancel_reason(lease).filter(|_| !keeps_blocks) {
                Some(reason) => Box::pin(self.cancel_without_code(held, Stage::of(lease), reason)).await,
                None => Box::pin(self.block(held, &who, obstacle)).await,
            }
            return None;
        }
        output.prune = self.prune_with_commit(&who, &output, &promises, self.now(held));
        if !output.unaddressed.is_empty()
            && let Err(hindrance) = Box::pin(self.address_answers(&who.instance, &mut output)).await
        {
            Box::pin(self.hindered(held, &who, hindrance)).await;
            return None;
        }
        self.finish(held, who, resident, output).await
    }

    async fn finish(
        &self,
        held: &Held,
        who: Identity,
        mut resident: Box<Resident>,
        output: Box<TurnOutput>,
    ) -> Option<NextTurn> {
        let decided = Decided::of(&self.core, &mut resident, &output);
        let mut turn = commit_of(&held.lease, who.execution_id, *output, self.at_most(held));
        turn.turn.next = self.next_lease();
        turn.turn.still_refused = still_refused(&held.lease, &self.core.settings.build_id);
        decided.told.count(&self.core, &who);
        let end = match self.commit_pruning(held, &who, turn).await {
            CommitEnd::Refused(error) => {
                decided.told.withdraw(&self.core);
                Box::pin(self.refused(held, who, error)).await;
                return None;
            }
            end @ (CommitEnd::Done(_) | CommitEnd::NotOurs | CommitEnd::Outdated | CommitEnd::GivenUp) => end,
        };
        let Some(written) = self.settle(held, &who, end).await else {
            decided.told.withdraw(&self.core);
            return None;
        };
        self.committed(who, resident, &decided, &written);
        written.next
    }

    /// An instance that has mail when its turn is committed goes on in its slot, unless the runtime ends.
    fn next_lease(&self) -> Option<NextLease> {
        let settings = &self.core.settings;
        let terms = || NextLease {
            lease_for: settings.orchestrator_lock_timeout,
            capabilities: Some(settings.capabilities()),
            serving: self.core.serving.request_without_suspects(),
        };
        (!self.core.stop.ending.is_cancelled()).then(terms)
    }

    /// A turn is committed: whoever can go on now hears of it, and the execution is kept if it goes on.
    fn committed(&self, who: Identity, resident: Box<Resident>, decided: &Decided, written: &Written) {
        self.core.chances.forget(&who.instance);
        self.conflicts.forget(&who.instance);
        if decided.sends_mail {
            self.core.new_mail.notify_one();
        }
        if decided.sends_work {
            self.core.new_work.notify_one();
        }
        decided.told.tell_counted(&self.core, &who, &written.committed);
        unserved::tell(&self.core, &who.instance, &decided.missing);
        // What continues as new is kept, too: it is known what it leaves to the execution that begins.
        // If the answer was lost, another node may have added to it.
        if decided.told.goes_on() && written.answer == Answer::Came {
            self.keep(who.instance, resident);
        }
    }

    /// Mail for something that will not run any more is used up.
    async fn late_mail(&self, held: &Held, who: Identity, outcome: Outcome) {
        let lease = &held.lease;
        if self.take_back_late_work(held, &who).await == LateWork::Left {
            return;
        }
        let execution_id = lease.position.execution_id.max(INITIAL_EXECUTION_ID);
        let mut output = answer_late_mail(who.clone(), outcome, mail_of(&lease.messages), self.now(held));
        if let Err(hindrance) = self.address_answers(&who.instance, &mut output).await {
            return self.hindered(held, &who, hindrance).await;
        }
        let told = report::Told::of(&output, &Life::default(), lease.position.last_event_id);
        let turn = commit_of(lease, execution_id, output, self.at_most(held));
        self.commit_counted(held, &who, &told, turn).await;
    }

    fn now(&self, held: &Held) -> Timestamp {
        held.time.now(&*self.core.clock)
    }

    /// The latest that it can be for the store by now.
    fn at_most(&self, held: &Held) -> Timestamp {
        held.time.at_most(&*self.core.clock)
    }

    async fn hand_back(&self, lease: &Arc<InstanceLease>, back: GiveBack) {
        self.core.chances.handed_back(&lease.instance, back.attempt);
        give_back::<Self>(&self.core, lease.token.clone(), back).await;
    }
}

impl Lane for Orchestrator {
    type Lease = InstanceLease;
    type Job = Job;

    const NAME: &'static str = "orchestrations";
    const LEASE: Operation = Operation::LeaseInstances;
    const ABANDON: Operation = Operation::AbandonOrchestrationItem;
    const QUEUE: abide_provider::Lane = abide_provider::Lane::Instances;

    fn slots(&self) -> usize {
        self.core.settings.orchestration_concurrency
    }

    /// What has begun comes first: while activities crowd, few instances are taken up by each call. Thousands that are started at once would
    /// otherwise all be under way at once, each with its memory and its rows; they wait as well in the queue. A matter of pace, not a bound; and
    /// of steps that are fused, because other results wait behind the starts.
    fn limit(&self, free: usize) -> usize {
        let core = &self.core;
        if core.crowd.is_there(core.settings.worker_concurrency, core.clock.monotonic()) {
            free.min(TAKEN_UP_IN_A_CROWD)
        } else {
            free
        }
    }

    fn lease(
        self: Arc<Self>,
        LeaseCall { limit, wait, serving }: LeaseCall,
    ) -> BoxFuture<'static, Result<Vec<InstanceLease>, StoreError>> {
        let request = LeaseInstances {
            limit,
            lease_for: self.core.settings.orchestrator_lock_timeout,
            wait,
            capabilities: Some(self.core.settings.capabilities()),
            serving,
        };
        let store = Arc::clone(&self.core.store);
        async move { store.lease_instances(request).await }.boxed()
    }

    fn take_on(&self, Next { lease, granted, slot }: Next<InstanceLease>) -> Job {
        let (settings, lease) = (&self.core.settings, Arc::new(lease));
        let keep = Lease {
            on: Leased::Instance,
            token: lease.token.clone(),
            lasts: settings.orchestrator_lock_timeout,
            interval: settings.orchestrator_renewal_interval,
        };
        let task = TaskState::new(Arc::clone(&self.core.executor));
        let renewed = self.core.renewals.hold(keep, granted.by, Arc::<InstanceLease>::clone(&lease), task);
        // What runs no code here cannot crash this node.
        let suspect = if self.counts_misses(&lease) {
            SuspectAdmission::Admitted(None)
        } else {
            self.core.serving.admit_turn(&lease)
        };
        Job { lease, granted, slot, renewed, suspect }
    }

    fn task(job: &Job) -> Option<&Arc<TaskState>> {
        Some(job.renewed.task())
    }

    async fn run(self: Arc<Self>, job: Job) -> Option<Next<InstanceLease>> {
        let Job { lease, granted, slot, renewed, suspect } = job;
        let stage = Stage::of(&lease);
        let who = stage.who();
        let span = info_span!(target: "abide::runtime", "turn", instance_id = %who.instance,
            execution_id = who.execution_id, orchestration_name = %who.orchestration);
        let work = async move {
            let time = StoreTime::of_instance(&lease, granted);
            let held = Held { lease, time, lost: renewed.lost().clone(), task: Arc::clone(renewed.task()) };
            crate::test_hooks::delay(&*self.core.clock, &held.lease.instance).await;
            if renewed.lost().is_cancelled() {
                self.core.chances.spoiled(&held.lease.instance);
                return None;
            }
            // Everything it waits for hears that the runtime gives up, so it ends by itself and hands its lease back.
            let next = self.turn(held, stage, suspect).await;
            drop(renewed);
            next.map(|NextTurn { lease, granted }| Next { lease: *lease, granted, slot })
        };
        work.instrument(span).await
    }

    fn token(lease: &InstanceLease) -> String {
        lease.token.clone()
    }

    fn abandon(
        store: Arc<dyn Provider>,
        token: String,
        back: GiveBack,
    ) -> BoxFuture<'static, Result<(), ProviderError>> {
        async move { store.abandon_orchestration_item(&token, back.delay, back.ignores_attempt()).await }
            .boxed()
    }

    fn news(core: &Core) -> &Notify {
        &core.new_mail
    }

    fn count_leased(core: &Core, leased: u64) {
        core.metrics.record_orch_dispatcher_items_fetched(leased);
    }

    fn count_worked(core: &Core, millis: u64) {
        core.metrics.record_orch_dispatcher_processing_duration(millis);
    }
}

impl Subject for InstanceLease {
    fn instance(&self) -> &str {
        &self.instance
    }

    fn orchestration(&self) -> String {
        Stage::of(self).who().orchestration.clone()
    }

    fn activity(&self) -> Option<&str> {
        None
    }
}
