//! The one loop that finds work: for turns and for activities alike.
//!
//! A [`Lane`] knows how to lease and how to run what it leased. The loop asks for no more than there are free slots, waits in
//! the store if there is nothing, backs off if the store fails, and gives each lease to the [`Crew`]. It runs until the runtime
//! ends; what was leased but cannot be started any more is given back.

use std::collections::BTreeSet;
use std::fmt;
use std::future::{pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_model::{Clock, panic_text};
use abide_provider::{Ability, LEASE_BYTES, Operation, Provider, ProviderError, StoreError, transfer_time};
use futures_util::future::{BoxFuture, Either, FutureExt, join_all, select};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tracing::{error, warn};

use crate::core::Core;
use crate::crew::Crew;
use crate::crowd::Served;
use crate::executor::Answer;
use crate::pacing::Backoff;
use crate::problem_policy::ProblemPolicy;
use crate::serving::LeaseCall;
use crate::settings::Settings;
use crate::store_call::{Called, PATIENCE};
use crate::store_time::HandedOver;
use crate::suspects::Pending;
use crate::task_state::TaskState;

/// Something that leases work and runs it.
pub(crate) trait Lane: Send + Sync + 'static {
    /// What it leases.
    type Lease: Send + 'static;

    /// A lease that was taken on, and what goes with it.
    type Job: Send + 'static;

    /// What it is called in logs, metrics and the state of health.
    const NAME: &'static str;

    /// The call by which it leases.
    const LEASE: Operation;

    /// Which queue of the store it serves.
    const QUEUE: abide_provider::Lane;

    /// How many leases can be worked on at once.
    fn slots(&self) -> usize;

    /// How many to ask for if so many slots are free: not more.
    fn limit(&self, free: usize) -> usize {
        free
    }

    /// Leases what a call asks for, and waits for the first as long as it says.
    fn lease(self: Arc<Self>, call: LeaseCall) -> BoxFuture<'static, Result<Vec<Self::Lease>, StoreError>>;

    /// Takes a lease on: from here on it is renewed, and its session counts. The dispatcher does it before it asks for more, on a thread
    /// that user code cannot block; of a lease that came with a commit, the task that committed does.
    fn take_on(&self, next: Next<Self::Lease>) -> Self::Job;

    /// The task of what was taken on, if its lease is renewed.
    fn task(job: &Self::Job) -> Option<&Arc<TaskState>>;

    /// Works on what was taken on. It may end with another lease.
    fn run(self: Arc<Self>, job: Self::Job) -> impl Future<Output = Option<Next<Self::Lease>>> + Send;

    /// The token of a lease, to give it back by.
    fn token(lease: &Self::Lease) -> String;

    /// The call by which a lease is given back.
    const ABANDON: Operation;

    /// Makes that call.
    fn abandon(
        store: Arc<dyn Provider>,
        token: String,
        back: GiveBack,
    ) -> BoxFuture<'static, Result<(), ProviderError>>;

    /// For stores in which nobody can wait: something was enqueued from here.
    fn news(core: &Core) -> &Notify;

    /// Takes note of what a call came to.
    fn note_served(_core: &Core, _call: Served) {}

    /// Counts what was leased.
    fn count_leased(core: &Core, leased: u64);

    /// Counts how long one lease was worked on.
    fn count_worked(core: &Core, millis: u64);
}

/// Under which terms a lease is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GiveBack {
    pub(crate) delay: Option<Duration>,
    pub(crate) attempt: Attempt,
}

/// Whether a lease counts as a try of what was leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Counts,
    DoesNotCount,
}

impl Attempt {
    /// How it goes on after so many of at most so many tries.
    pub(crate) fn prospect(self, tried: u32, most: u32) -> Prospect {
        match self {
            Self::Counts => Prospect::Tries(most.saturating_sub(tried)),
            Self::DoesNotCount => Prospect::ForEver,
        }
    }
}

/// How often something is looked at again before it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prospect {
    Tries(u32),
    ForEver,
}

impl fmt::Display for Prospect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tries(left) => write!(f, "it fails after {left} more tries"),
            Self::ForEver => f.write_str("it waits for a node that has it"),
        }
    }
}

impl GiveBack {
    /// After a problem that is neither a crash nor the fault of what was leased. Only the reference counts it.
    pub(crate) fn without_crash(settings: &Settings, delay: Duration) -> Self {
        match settings.problem_policies.crashes {
            ProblemPolicy::Block => Self::untried(delay),
            ProblemPolicy::Fail => Self::tried(delay),
        }
    }

    /// Nothing was tried: the runtime ends, or the store failed.
    pub(crate) const UNTRIED: Self = Self { delay: None, attempt: Attempt::DoesNotCount };

    /// Nothing was tried, and nothing would come of trying again at once.
    pub(crate) const fn untried(delay: Duration) -> Self {
        Self { delay: Some(delay), attempt: Attempt::DoesNotCount }
    }

    /// It was tried and comes again later.
    pub(crate) const fn tried(delay: Duration) -> Self {
        Self { delay: Some(delay), attempt: Attempt::Counts }
    }

    pub(crate) const fn ignores_attempt(self) -> bool {
        match self.attempt {
            Attempt::Counts => false,
            Attempt::DoesNotCount => true,
        }
    }
}

/// A call that is under way when the runtime ends is given this long to answer.
const LAST_ANSWER: Duration = Duration::from_millis(100);

/// The right to work on one lease. Free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    number: usize,
    free: Arc<Mutex<BTreeSet<usize>>>,
    _permit: OwnedSemaphorePermit,
}

impl Slot {
    /// Which of the lane's slots this is.
    pub(crate) const fn number(&self) -> usize {
        self.number
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).insert(self.number);
    }
}

/// A lease that is to be worked on next: when it was granted, and the slot it is worked on in.
#[derive(Debug)]
pub(crate) struct Next<L> {
    pub(crate) lease: L,
    pub(crate) granted: HandedOver,
    pub(crate) slot: Slot,
}

/// The slots of a lane.
struct Slots {
    permits: Arc<Semaphore>,
    free: Arc<Mutex<BTreeSet<usize>>>,
}

impl Slots {
    fn new(count: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(count)), free: Arc::new(Mutex::new((0..count).collect())) }
    }

    /// Waits for a free slot and takes all that are free; `None` never happens, because the semaphore is never closed.
    async fn take_free(&self) -> Option<OwnedSemaphorePermit> {
        let mut taken = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        let more = u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX);
        if let Ok(more) = Arc::clone(&self.permits).try_acquire_many_owned(more) {
            taken.merge(more);
        }
        Some(taken)
    }

    fn slot(&self, permit: OwnedSemaphorePermit) -> Slot {
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
        Slot { number: number.unwrap_or_default(), free: Arc::clone(&self.free), _permit: permit }
    }
}

/// Runs a lane until the runtime ends. A panic of the loop itself is told, and the loop goes on.
pub(crate) async fn dispatch<L: Lane>(core: Arc<Core>, lane: Arc<L>) {
    let slots = Slots::new(lane.slots());
    let crew = Crew::new(&core, &lane);
    let (mut backoff, lateness) = (Backoff::default(), Arc::new(Lateness::default()));
    let _fetches = core.stop.fetching.token();
    while !core.stop.ending.is_cancelled() {
        let round = AssertUnwindSafe(one_round(&core, &crew, &slots, (&mut backoff, &lateness)));
        if let Err(payload) = round.catch_unwind().await {
            let _said = panic_text(payload);
            error!(target: "abide::runtime", lane = L::NAME, "the dispatcher panicked; it goes on");
            let delay = backoff.after_failure(&*core.entropy);
            let _ended = core.caller.pause(delay).await;
        }
    }
}

async fn one_round<L: Lane>(
    core: &Arc<Core>,
    crew: &Crew<L>,
    slots: &Slots,
    (backoff, lateness): (&mut Backoff, &Arc<Lateness>),
) {
    let lane = crew.lane();
    let mut permits = match select(Box::pin(slots.take_free()), Box::pin(core.stop.ending.cancelled())).await
    {
        Either::Left((Some(permits), _)) => permits,
        Either::Left((None, _)) | Either::Right(_) => return,
    };
    // What nobody can begin is left to other nodes.
    if core.executor.is_here(&core.stop.ending).await == Answer::Ending {
        return;
    }
    let asked = core.clock.monotonic();
    let pulse = core.pulse.lane(L::QUEUE);
    pulse.asked();
    let free = permits.num_permits();
    let limit = lane.limit(free);
    let suspects = core.serving.suspects.ask();
    let (leased, since) = match lease(core, lane, (limit, lateness), suspects.as_ref()).await {
        Leased::Answer(Ok(leased)) => leased,
        // A store that is not heard out because the runtime ends is none that fails.
        Leased::Answer(Err(_)) if core.stop.ending.is_cancelled() => return,
        Leased::Answer(Err(failure)) => {
            pulse.answered();
            core.chances.met_trouble();
            let delay = backoff.after_failure(&*core.entropy);
            core.store_failed(asked, &failure);
            if backoff.is_worth_a_reminder() {
                warn!(target: "abide::runtime", lane = L::NAME, %failure, failures = backoff.failures(),
                    retry_in = ?delay, "still cannot lease; trying again");
            }
            let _ended = core.caller.pause(delay).await;
            return;
        }
        Leased::Suspended => return pulse.answered(),
        Leased::Ending => return,
    };
    backoff.reset();
    core.store_answered();
    let granted = HandedOver { since, by: core.clock.monotonic() };
    pulse.answered();
    if leased.len() < limit {
        pulse.drained(granted.by);
    }
    L::note_served(core, Served { asked, answered: granted.by, given: leased.len(), free });
    if leased.is_empty() {
        drop((permits, suspects));
        return wait_for_news::<L>(core, asked).await;
    }
    if core.executor.is_suspended() {
        return give_all_back::<L>(core, Ok(leased)).await;
    }
    L::count_leased(core, u64::try_from(leased.len()).unwrap_or(u64::MAX));
    let mut too_many = Vec::new();
    for lease in leased {
        match permits.split(1) {
            Some(permit) => crew.work_on(Next { lease, granted, slot: slots.slot(permit) }),
            None => too_many.push(lease),
        }
    }
    drop(suspects);
    // A store that gives more than it was asked for finds the rest of it back in its queue.
    give_all_back::<L>(core, Ok(too_many)).await;
}

/// How long lease calls have more time after leases that arrived late.
const SLOW_FOR: Duration = Duration::from_secs(600);

/// Whether leases arrived late, perhaps because they are large.
///
/// How large an answer is is not known before it is there. So leases that arrive late give the calls after them the time that
/// the largest answer needs: otherwise they would be given back for ever. A call that is never answered changes nothing.
#[derive(Debug, Default)]
struct Lateness(Mutex<Option<Duration>>);

impl Lateness {
    /// How long the answer to a call made now may take, beyond the time that the call waits in the store.
    fn patience(&self, settings: &Settings, now: Duration) -> Duration {
        let late_at = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if late_at.is_none_or(|late_at| now.saturating_sub(late_at) >= SLOW_FOR) {
            return PATIENCE;
        }
        PATIENCE.saturating_add(transfer_time(LEASE_BYTES.saturating_add(settings.max_payload_bytes)))
    }

    /// Leases arrived now, and too late.
    fn note(&self, now: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }
}

enum Leased<T> {
    /// With the time at which the poll began that brought it.
    Answer(Result<(Vec<T>, Duration), StoreError>),
    /// The call was ended, and gives back what it was granted.
    Suspended,
    Ending,
}

/// Leases, unless the runtime ends first, or something happens while the call waits in the store: the executor falls
/// silent, or whether the call may bring a suspect has changed.
async fn lease<L: Lane>(
    core: &Arc<Core>,
    lane: &Arc<L>,
    (limit, lateness): (usize, &Arc<Lateness>),
    suspects: Option<&Pending>,
) -> Leased<L::Lease> {
    let wait = core.settings.dispatcher_long_poll_timeout;
    let patience = lateness.patience(&core.settings, core.clock.monotonic());
    let (of_late, lateness) = (Arc::clone(core), Arc::clone(lateness));
    let terms = core.serving.call(limit, wait, suspects);
    let call = core.caller.call_or(
        L::LEASE,
        wait.saturating_add(patience),
        with_its_poll(Arc::clone(&core.clock), Arc::clone(lane).lease(terms)),
        move |(late, begun)| {
            if late.as_ref().is_ok_and(|leases| !leases.is_empty()) {
                lateness.note(begun);
            }
            async move { give_all_back::<L>(&of_late, late).await }.boxed()
        },
    );
    let mut call = Box::pin(call);
    let _leasing = core.executor.leasing.token();
    let gives_back_dropped_calls = core.abilities.has(Ability::Parking);
    let suspended = async {
        if !gives_back_dropped_calls {
            pending::<()>().await;
        }
        let changed = Box::pin(core.serving.suspects.changed(suspects));
        let _either = select(Box::pin(core.executor.suspended()), changed).await;
    };
    let stopped = select(Box::pin(core.stop.ending.cancelled()), Box::pin(suspended));
    // The end first: once it has begun, nothing more is taken.
    match select(stopped, &mut call).await {
        Either::Left((Either::Left(_), _)) => {}
        Either::Left((Either::Right(_), _)) => return Leased::Suspended,
        Either::Right((called, _)) => return Leased::Answer(answer(called)),
    }
    // A store in which calls wait gives back what a dropped call was given. Of another nobody knows: it may hold a lease
    // for us, so we hear it out. But it may also wait for something to come, and then we do not.
    if !gives_back_dropped_calls {
        let over = Box::pin(core.caller.pause_unless_given_up(LAST_ANSWER));
        if let Either::Left((called, _)) = select(call, over).await
            && let Ok((leased, _)) = answer(called)
        {
            give_all_back::<L>(core, Ok(leased)).await;
        }
    }
    Leased::Ending
}

/// An answer, and the monotonic time at which the poll began that brought it: what it says of the time was not true before.
pub(crate) async fn with_its_poll<T>(clock: Arc<dyn Clock>, call: impl Future<Output = T>) -> (T, Duration) {
    let mut call = pin!(call);
    poll_fn(|context| {
        let begun = clock.monotonic();
        call.as_mut().poll(context).map(|answer| (answer, begun))
    })
    .await
}

type Timed<T> = (Result<Vec<T>, StoreError>, Duration);

fn answer<T>(called: Called<Timed<T>>) -> Result<(Vec<T>, Duration), StoreError> {
    match called {
        Called::Answered((answer, begun)) => answer.map(|leased| (leased, begun)),
        Called::Unanswered(failure) => Err(failure),
    }
}

async fn give_all_back<L: Lane>(core: &Core, leased: Result<Vec<L::Lease>, StoreError>) {
    let all = leased.into_iter().flatten();
    // Side by side: a store that is silent costs its time once.
    join_all(all.map(|lease| give_back_at_once::<L>(core, L::token(&lease), GiveBack::UNTRIED))).await;
}

/// Gives a lease back. If the store does not hear it, the lease runs out by itself.
pub(crate) async fn give_back<L: Lane>(core: &Core, token: String, back: GiveBack) {
    core.wait_for_last_fetches().await;
    give_back_at_once::<L>(core, token, back).await;
}

async fn give_back_at_once<L: Lane>(core: &Core, token: String, back: GiveBack) {
    core.give_back(L::ABANDON, || L::abandon(Arc::clone(&core.store), token.clone(), back)).await;
}

/// There was nothing: if the store did not wait, the loop does.
async fn wait_for_news<L: Lane>(core: &Arc<Core>, asked: Duration) {
    let next = asked.saturating_add(core.settings.dispatcher_min_poll_interval);
    let now = core.clock.monotonic();
    if now >= next {
        return;
    }
    let news = Box::pin(L::news(core).notified());
    let pause = Box::pin(core.caller.pause(next.saturating_sub(now)));
    let _either = select(news, pause).await;
}
