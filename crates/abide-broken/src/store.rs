//! The healthy store inside a broken provider, and what a bug needs to know about it.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_memory::Dump;
use abide_model::{Clock, Event, Timestamp, WorkItem};
use abide_provider::{
    Authority, Committed, Consumed, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, StoreError,
    TagFilter, Turn, TurnCommit, WorkLease,
};
use futures_executor::block_on;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard};

use crate::healthy::{Healthy, Inside, Whole};

/// More than any validation has.
const EVERYTHING: usize = 100_000;

/// A healthy store, with a memory of the leases it gave.
pub(crate) struct Store {
    healthy: Healthy,
    turns: Mutex<Vec<Granted<InstanceLease>>>,
    jobs: Mutex<HashMap<String, Granted<WorkLease>>>,
    moment: AsyncMutex<()>,
}

/// A lease that was given, perhaps long ago.
#[derive(Debug, Clone)]
pub(crate) struct Granted<L> {
    pub(crate) lease: L,
    pub(crate) at: Timestamp,
    pub(crate) until: Timestamp,
}

impl Deref for Store {
    type Target = dyn Whole;

    fn deref(&self) -> &Self::Target {
        self.healthy.store.as_ref()
    }
}

/// Bent time, until this is dropped.
struct Bent<'s>(&'s dyn Inside);

impl<'s> Bent<'s> {
    fn to(inside: &'s dyn Inside, time: Timestamp) -> Self {
        inside.bend(Some(time));
        Self(inside)
    }
}

impl Drop for Bent<'_> {
    fn drop(&mut self) {
        self.0.bend(None);
    }
}

impl Store {
    pub(crate) fn new(healthy: Healthy) -> Self {
        Self { healthy, turns: Mutex::default(), jobs: Mutex::default(), moment: AsyncMutex::default() }
    }

    /// The healthy store itself, for what outlives a call.
    pub(crate) fn shared(&self) -> Arc<dyn Whole> {
        Arc::clone(&self.healthy.store)
    }

    /// Everything that is stored.
    pub(crate) fn dump(&self) -> Dump {
        self.healthy.inside.dump()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock().wall()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.healthy.inside.clock()
    }

    /// A moment of a bug about races: what it does until this is dropped, no other caller comes in between. A store that is far
    /// away takes its time, and who wins would be chance.
    pub(crate) async fn moment(&self) -> MutexGuard<'_, ()> {
        self.moment.lock().await
    }

    /// Makes a call as if it were another time: how a bug does now what was allowed earlier. The call must not wait for anybody.
    pub(crate) fn at<T>(&self, time: Timestamp, call: impl Future<Output = T>) -> T {
        let _bent = Bent::to(self.healthy.inside.as_ref(), time);
        // Nobody else of this thread must see the time that is bent.
        block_on(call)
    }

    pub(crate) async fn lease_instances(
        &self,
        request: LeaseInstances,
    ) -> Result<Vec<InstanceLease>, StoreError> {
        let lease_for = request.lease_for;
        let leases = self.healthy.store.lease_instances(request).await?;
        let granted = leases.iter().map(|lease| self.granted(lease.clone(), lease_for));
        self.turns.lock().unwrap().extend(granted);
        Ok(leases)
    }

    pub(crate) async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        let lease_for = request.lease_for;
        let leases = self.healthy.store.lease_work(request).await?;
        let granted =
            leases.iter().map(|lease| (lease.token.clone(), self.granted(lease.clone(), lease_for)));
        self.jobs.lock().unwrap().extend(granted);
        Ok(leases)
    }

    fn granted<L>(&self, lease: L, lease_for: Duration) -> Granted<L> {
        let at = self.now();
        Granted { lease, at, until: at.saturating_add(lease_for) }
    }

    pub(crate) async fn commit(&self, commit: TurnCommit) -> Result<Committed, StoreError> {
        let mut answers = self.healthy.store.commit_turns(vec![commit]).await;
        answers.pop().expect("one answer to one turn")
    }

    pub(crate) async fn finish(&self, finished: FinishedWork) -> Result<(), StoreError> {
        let mut answers = self.healthy.store.finish_work(vec![finished]).await;
        answers.pop().expect("one answer to one activity")
    }

    /// All leases on instances that were ever given, in order.
    pub(crate) fn turns(&self) -> Vec<Granted<InstanceLease>> {
        self.turns.lock().unwrap().clone()
    }

    /// The lease on an instance with this token.
    pub(crate) fn turn(&self, token: &str) -> Option<Granted<InstanceLease>> {
        self.turns.lock().unwrap().iter().rev().find(|turn| turn.lease.token == token).cloned()
    }

    /// The last lease that was given on this instance.
    pub(crate) fn last_turn_of(&self, instance: &str) -> Option<Granted<InstanceLease>> {
        self.turns.lock().unwrap().iter().rev().find(|turn| turn.lease.instance == instance).cloned()
    }

    /// The lease on an activity with this token.
    pub(crate) fn job(&self, token: &str) -> Option<Granted<WorkLease>> {
        self.jobs.lock().unwrap().get(token).cloned()
    }

    /// All leases on activities that were ever given.
    pub(crate) fn jobs(&self) -> Vec<Granted<WorkLease>> {
        self.jobs.lock().unwrap().values().cloned().collect()
    }

    /// Leases what is asked for, but not what is hidden.
    pub(crate) async fn lease_instances_but(
        &self,
        request: LeaseInstances,
        is_hidden: impl Fn(&InstanceLease) -> bool,
    ) -> Result<Vec<InstanceLease>, StoreError> {
        let limit = request.limit;
        let all = self.lease_instances(LeaseInstances { limit: EVERYTHING, ..request }).await?;
        let mut wanted = Vec::new();
        for lease in all {
            if wanted.len() < limit && !is_hidden(&lease) {
                wanted.push(lease);
            } else {
                self.give_back(&lease.token).await;
            }
        }
        Ok(wanted)
    }

    /// Leases what is asked for, but not what is hidden.
    pub(crate) async fn lease_work_but(
        &self,
        request: LeaseWork,
        is_hidden: impl Fn(&WorkLease) -> bool,
    ) -> Result<Vec<WorkLease>, StoreError> {
        let limit = request.limit;
        let all = self.lease_work(LeaseWork { limit: EVERYTHING, ..request }).await?;
        let mut wanted = Vec::new();
        for lease in all {
            if wanted.len() < limit && !is_hidden(&lease) {
                wanted.push(lease);
            } else {
                self.give_work_back(&lease.token).await;
            }
        }
        Ok(wanted)
    }

    /// Leases this instance and nothing else.
    pub(crate) async fn lease(&self, instance: &str) -> Option<InstanceLease> {
        let request = LeaseInstances {
            limit: 1,
            lease_for: Duration::from_secs(1),
            wait: Duration::ZERO,
            capabilities: None,
            serving: None,
        };
        let leases = self.lease_instances_but(request, |lease| lease.instance != instance).await;
        leases.expect("a healthy store leases").pop()
    }

    /// Leases all activities without a session.
    pub(crate) async fn lease_all_work(&self) -> Vec<WorkLease> {
        let request = LeaseWork {
            limit: EVERYTHING,
            lease_for: Duration::from_secs(1),
            wait: Duration::ZERO,
            session: None,
            tags: TagFilter::Any,
            serving: None,
        };
        self.lease_work(request).await.expect("a healthy store leases")
    }

    /// Ends a lease as if it had never been.
    pub(crate) async fn give_back(&self, token: &str) {
        let given = self.healthy.store.abandon_orchestration_item(token, None, true).await;
        given.expect("the lease is held");
    }

    /// Ends a lease on an activity as if it had never been.
    pub(crate) async fn give_work_back(&self, token: &str) {
        let given = self.healthy.store.abandon_work_item(token, None, true).await;
        given.expect("the lease is held");
    }

    /// Removes the messages of an instance that are visible and meant.
    pub(crate) async fn remove_mail(&self, instance: &str, is_meant: impl Fn(u64) -> bool) {
        let Some(lease) = self.lease(instance).await else { return };
        let ids = lease.messages.iter().map(|message| message.id);
        let consumed = Consumed::These(ids.filter(|id| is_meant(id.0)).collect());
        // What is no instance yet has no execution, and an empty turn of the first one does not make it one.
        let execution_id = lease.position.execution_id.max(1);
        let turn = Turn { execution_id, ..Turn::default() };
        let removed = self.commit(commit_of(&lease, consumed, turn)).await;
        removed.expect("an empty turn can be committed");
    }

    /// The numbers of the messages of an instance that are not handed out.
    pub(crate) fn unleased_mail(&self, instance: &str) -> Vec<u64> {
        let dump = self.dump();
        let batch = dump.instances.get(instance).map(|instance| instance.batch.clone()).unwrap_or_default();
        let numbers = dump.messages.iter().filter(|(_, message)| message.mailbox == instance);
        numbers.map(|(number, _)| *number).filter(|number| !batch.contains(number)).collect()
    }

    pub(crate) fn is_instance(&self, name: &str) -> bool {
        self.dump().instances.get(name).is_some_and(|dump| dump.is_instance)
    }

    /// The executions of an instance, ascending.
    pub(crate) fn executions_of(&self, instance: &str) -> Vec<u64> {
        let dump = self.dump();
        let of_instance = dump.executions.keys().filter(|(name, _)| name == instance);
        of_instance.map(|(_, execution)| *execution).collect()
    }

    /// Reads an instance, so that it can come back after it was deleted.
    pub(crate) async fn remember(&self, instance: &str) -> Remembered {
        let mut executions = Vec::new();
        for execution in self.executions_of(instance) {
            let events = self.healthy.store.read_with_execution(instance, execution).await;
            executions.push((execution, events.unwrap_or_default()));
        }
        Remembered { instance: instance.to_owned(), executions }
    }

    /// Brings an instance back.
    pub(crate) async fn bring_back(&self, remembered: Remembered) {
        for (execution, events) in remembered.executions {
            let appended =
                self.healthy.store.append_with_execution(&remembered.instance, execution, events).await;
            appended.expect("what could be read can be appended");
        }
    }
}

/// An instance that may be deleted meanwhile.
pub(crate) struct Remembered {
    instance: String,
    executions: Vec<(u64, Vec<Event>)>,
}

/// A commit under this lease.
pub(crate) fn commit_of(lease: &InstanceLease, consumed: Consumed, turn: Turn) -> TurnCommit {
    let authority = Authority::Lease { token: lease.token.clone() };
    TurnCommit { instance: lease.instance.clone(), authority, consumed, left: Vec::new(), turn }
}

/// Whose message or activity it is.
pub(crate) fn addressee(item: &WorkItem) -> &str {
    match item {
        WorkItem::StartOrchestration { instance, .. }
        | WorkItem::ActivityExecute { instance, .. }
        | WorkItem::ActivityCompleted { instance, .. }
        | WorkItem::ActivityFailed { instance, .. }
        | WorkItem::TimerFired { instance, .. }
        | WorkItem::ExternalRaised { instance, .. }
        | WorkItem::CancelInstance { instance, .. }
        | WorkItem::ContinueAsNew { instance, .. }
        | WorkItem::QueueMessage { instance, .. } => instance,
        WorkItem::SubOrchCompleted { parent_instance, .. }
        | WorkItem::SubOrchFailed { parent_instance, .. } => parent_instance,
    }
}
