//! The store around another, and how one of its calls goes wrong.

use std::fmt;
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_model::{Clock, Sleep};
use abide_provider::{
    Abilities, Ability, ErrorKind, InstanceLease, Operation, Provider, ProviderError, Rejection, RequestKey,
    StoreError,
};
use futures_executor::block_on;
use futures_util::future::{Either, select};

use super::record::{Record, Side};
use super::{Call, Fault, FaultPlan, mask};
use crate::Gate;

/// A store that does what another does, until it goes wrong.
///
/// Every call is recorded. Whether and how it goes wrong is said by a [`FaultPlan`]. A batch is one call, and goes wrong for
/// all of its elements. What the required methods can say of an outcome is less, see [`Fault`].
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use abide_memory::InMemoryProvider;
/// use abide_provider::{ErrorKind, Operation, Provider as _};
/// use abide_sim::{Fault, FaultPlan, FaultStore, SeededEntropy, VirtualClock, simulate};
/// # use abide_model::WorkItem;
/// # use abide_provider::{Enqueue, RequestKey};
/// # fn request() -> Enqueue {
/// #     let item = WorkItem::CancelInstance { instance: "a".to_owned(), reason: "changed my mind".to_owned() };
/// #     Enqueue { item, delay: None, key: RequestKey([7; 16]) }
/// # }
///
/// simulate(Duration::MAX, async {
///     let clock = Arc::new(VirtualClock::new());
///     let memory = Arc::new(InMemoryProvider::with_seams(clock.clone(), Arc::new(SeededEntropy::new(1))));
///     let plan = FaultPlan::none().at(Operation::EnqueueOnce, 1, Fault::Unknown);
///     let store = FaultStore::new(memory.clone(), clock).with_plan(plan);
///
///     // The message is sent, but its sender does not know.
///     let error = store.enqueue_once(request()).await.unwrap_err();
///     assert_eq!(error.kind, ErrorKind::Unknown);
///     assert!(store.fired());
///
///     // Whoever sends again under the same key sends nothing.
///     store.enqueue_once(request()).await.unwrap();
///     assert_eq!(store.calls(), [(Operation::EnqueueOnce, 1), (Operation::EnqueueOnce, 2)]);
///     assert_eq!(memory.dump().messages.len(), 1);
/// });
/// ```
pub struct FaultStore {
    pub(super) inner: Arc<dyn Provider>,
    clock: Arc<dyn Clock>,
    mask: Option<Abilities>,
    answers: Answers,
    pub(super) change_lease: Option<fn(&mut InstanceLease)>,
    record: Mutex<Record>,
}

/// When a call has its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    WhenReady,
    AtOnce,
}

/// A lease that a call names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held<'call> {
    Instance(&'call str),
    Work(&'call str),
}

impl FaultStore {
    /// A store around another, by the same clock, with which nothing goes wrong yet.
    #[must_use]
    pub fn new(inner: Arc<dyn Provider>, clock: Arc<dyn Clock>) -> Self {
        Self {
            inner,
            clock,
            mask: None,
            answers: Answers::WhenReady,
            change_lease: None,
            record: Mutex::default(),
        }
    }

    /// The same, but things go wrong by this plan.
    #[must_use]
    pub fn with_plan(self, plan: FaultPlan) -> Self {
        self.set_plan(plan);
        self
    }

    /// The same, but with only those abilities of the inner store that are among these.
    ///
    /// Without the ability to do so it waits for nobody, fuses no steps, removes no timers, forgets keys, and tells of no due
    /// times, changes or cancellations. Of the other abilities it only says that they are not there. A store that has really
    /// nothing beyond the required methods is [`RequiredOnly`](crate::RequiredOnly).
    #[must_use]
    pub fn with_abilities(self, abilities: Abilities) -> Self {
        Self { mask: Some(abilities), ..self }
    }

    /// The same, but lease calls for instances say something else: each lease is changed like this.
    #[must_use]
    pub fn with_changed_leases(self, change: fn(&mut InstanceLease)) -> Self {
        Self { change_lease: Some(change), ..self }
    }

    /// The same, but every call has its answer in the poll that makes it, and none waits for something to come.
    ///
    /// Time that is virtual passes when all tasks wait, also for a store that works in threads of its own. Only like this can such
    /// a store be used in it. Its own clock must be set by hand, with every [`Call`].
    #[must_use]
    pub fn answering_at_once(self) -> Self {
        Self { answers: Answers::AtOnce, ..self }
    }

    /// From now on things go wrong by this plan. Counting begins anew; gates stay.
    pub fn set_plan(&self, plan: FaultPlan) {
        let mut record = self.record();
        record.plan = Arc::new(plan);
        record.calls.clear();
        record.injected.clear();
    }

    /// Holds every call of this operation at the gate, before its effect.
    pub fn hold(&self, operation: Operation, gate: &Gate) {
        self.record().post(operation, Side::Before, gate.clone());
    }

    /// Holds every answer of this operation at the gate: the call has had its effect, and nobody knows.
    pub fn hold_answers(&self, operation: Operation, gate: &Gate) {
        self.record().post(operation, Side::After, gate.clone());
    }

    /// Every call since the plan began, in order: which, and its number among the calls of its operation.
    #[must_use]
    pub fn calls(&self) -> Vec<(Operation, u64)> {
        self.record().calls.clone()
    }

    /// How often an operation was called since the plan began.
    #[must_use]
    pub fn count(&self, operation: Operation) -> u64 {
        self.record().count(operation)
    }

    /// Whether anything went wrong as planned: a test of a fault that never happens shows nothing.
    #[must_use]
    pub fn fired(&self) -> bool {
        !self.record().injected.is_empty()
    }

    /// What went wrong as planned, in order. A call that an outage cut off is there as unknown.
    #[must_use]
    pub fn injected(&self) -> Vec<(Call, Fault)> {
        self.record().injected.clone()
    }

    pub(super) fn masked_abilities(&self) -> Abilities {
        mask::common(self.inner.abilities(), self.mask)
    }

    /// The key of a request, unless the store forgets keys.
    pub(super) fn key(&self, key: RequestKey) -> RequestKey {
        let knows_keys = self.masked_abilities().has(Ability::KeyedRequests);
        if knows_keys { key } else { self.record().fresh_key() }
    }

    /// How long to wait in the store, unless it waits for nobody.
    pub(super) fn wait(&self, wait: Duration) -> Duration {
        let waits = self.answers == Answers::WhenReady && self.masked_abilities().has(Ability::Parking);
        if waits { wait } else { Duration::ZERO }
    }

    /// A call of a required method.
    pub(super) async fn required<T, F>(
        &self,
        operation: Operation,
        held: &[Held<'_>],
        effect: impl FnOnce() -> F + Send,
    ) -> Result<T, ProviderError>
    where
        T: Send,
        F: Future<Output = Result<T, ProviderError>> + Send,
    {
        self.call(operation, held, |kind| Err(error_of(operation, kind).into()), effect).await
    }

    /// A call of a provided method.
    pub(super) async fn provided<T, F>(
        &self,
        operation: Operation,
        held: &[Held<'_>],
        effect: impl FnOnce() -> F + Send,
    ) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        self.call(operation, held, |kind| Err(error_of(operation, kind)), effect).await
    }

    /// An answer, and when the inner store gave it, in monotonic time.
    pub(super) async fn answered_at<T, E>(
        &self,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<(T, Duration), E> {
        Ok((call.await?, self.clock.monotonic()))
    }

    /// What an answer took on its way since then.
    pub(super) fn passed_since(&self, answered_at: Duration) -> Duration {
        self.clock.monotonic().saturating_sub(answered_at)
    }

    /// A call with an answer for each of what it was given.
    pub(super) async fn batch<T, F>(
        &self,
        operation: Operation,
        held: &[Held<'_>],
        effect: impl FnOnce() -> F + Send,
    ) -> Vec<Result<T, StoreError>>
    where
        T: Send,
        F: Future<Output = Vec<Result<T, StoreError>>> + Send,
    {
        let each = |kind| held.iter().map(|_| Err(error_of(operation, kind))).collect();
        self.call(operation, held, each, effect).await
    }

    async fn call<T, F>(
        &self,
        operation: Operation,
        held: &[Held<'_>],
        fail: impl Fn(ErrorKind) -> T + Send,
        effect: impl FnOnce() -> F + Send,
    ) -> T
    where
        T: Send,
        F: Future<Output = T> + Send,
    {
        let call = self.record().enter(operation, self.clock.monotonic());
        self.pass(operation, Side::Before).await;
        let call = Call { at: self.clock.monotonic(), ..call };
        let fault = self.decide(call, held);
        // Not begun before it is awaited.
        let effect = self.unless_cut_off(call, effect);
        let lost = || fail(ErrorKind::Unknown);
        let answer = match fault {
            None => effect.await.unwrap_or_else(lost),
            Some(Fault::NotApplied) => fail(ErrorKind::NotApplied),
            Some(Fault::UnknownBefore) => lost(),
            Some(Fault::Rejected(rejection)) => fail(ErrorKind::Rejected(rejection)),
            Some(Fault::Unknown) => {
                let _lost = effect.await;
                lost()
            }
            Some(Fault::LoseLease) => {
                self.give_back(held).await;
                effect.await.unwrap_or_else(lost)
            }
            Some(Fault::HangBefore) => pending().await,
            Some(Fault::HangAfter) => {
                let _lost = effect.await;
                pending().await
            }
            Some(Fault::Panic) => panic!("{operation}: an injected panic"),
            Some(Fault::Delay(by)) => {
                self.sleep(by).await;
                effect.await.unwrap_or_else(lost)
            }
            Some(Fault::DelayAnswer(by)) => {
                let answer = effect.await.unwrap_or_else(lost);
                self.sleep(by).await;
                answer
            }
        };
        self.pass(operation, Side::After).await;
        answer
    }

    async fn pass(&self, operation: Operation, side: Side) {
        let gates = self.record().gates(operation, side);
        for gate in gates {
            gate.pass().await;
        }
    }

    fn decide(&self, call: Call, held: &[Held<'_>]) -> Option<Fault> {
        // The plan may run code of the test, which must find the record unlocked.
        let plan = self.record().plan.clone();
        let fault = plan.fault_of(&call)?;
        if fault == Fault::LoseLease && held.is_empty() {
            return None;
        }
        self.record().injected.push((call, fault));
        Some(fault)
    }

    /// The effect, or nothing if an outage begins before it answers.
    async fn unless_cut_off<T, F: Future<Output = T> + Send>(
        &self,
        call: Call,
        effect: impl FnOnce() -> F + Send,
    ) -> Option<T> {
        if self.answers == Answers::AtOnce {
            return Some(block_on(effect()));
        }
        let plan = self.record().plan.clone();
        let Some(outage) = plan.next_outage(self.clock.monotonic()) else { return Some(effect().await) };
        // An answer that is there when the outage begins is given.
        match select(pin!(effect()), self.clock.sleep_until(outage)).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(_) => {
                let call = Call { at: self.clock.monotonic(), ..call };
                self.record().injected.push((call, Fault::Unknown));
                None
            }
        }
    }

    /// Gives leases back without a word: their holders find out.
    async fn give_back(&self, held: &[Held<'_>]) {
        for lease in held {
            // One that is lost already is what was wanted.
            let _already_lost = match lease {
                Held::Instance(token) => self.inner.abandon_orchestration_item(token, None, false).await,
                Held::Work(token) => self.inner.abandon_work_item(token, None, false).await,
            }
            .is_err();
        }
    }

    fn sleep(&self, by: Duration) -> Sleep {
        self.clock.sleep_until(self.clock.monotonic().saturating_add(by))
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        // No code of others runs under the lock, so what a panic leaves is whole.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn error_of(operation: Operation, kind: ErrorKind) -> StoreError {
    match kind {
        ErrorKind::NotApplied => StoreError::not_applied(operation, "an injected fault: nothing was written"),
        ErrorKind::Unknown => StoreError::unknown(operation, "an injected fault: the answer was lost"),
        ErrorKind::Rejected(Rejection::LeaseLost) => StoreError::lease_lost(operation),
        ErrorKind::Rejected(rejection) => {
            StoreError::rejected(operation, rejection, format!("an injected refusal: {rejection:?}"))
        }
    }
}

impl fmt::Debug for FaultStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.record();
        f.debug_struct("FaultStore")
            .field("inner", &self.inner.name())
            .field("plan", &record.plan)
            .field("calls", &record.calls.len())
            .field("injected", &record.injected)
            .finish_non_exhaustive()
    }
}
