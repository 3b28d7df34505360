//! Which try of its step an activity is.

use abide_model::{StepTry, WorkItem};
use abide_provider::{Authority, Committed, LeaseWork, TurnCommit, WorkLease};
use async_trait::async_trait;

use crate::bug::{Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// A commit does not keep which try an activity is: each retry has an idempotency key of its own.
    RetryNotKept => "step_tries::test_lease_tells_which_try_it_is";
    /// A commit keeps the step of a retry, but not the number of the try.
    RetryLosesNumber => "step_tries::test_lease_tells_which_try_it_is";
    /// A fused step does not keep which try an activity is.
    FusedRetryNotKept => "step_tries::test_fused_step_keeps_which_try_it_is";
    /// An activity that is delivered again is a step of its own.
    RedeliveryLosesStep => "step_tries::test_every_delivery_tells_the_same_try";
    /// A call that waited for work is not told which try it is.
    WaitingCallNotToldTry => "step_tries::test_call_that_waits_is_told_which_try_it_is";
    /// Activities of one lease call are told to be tries of one step.
    OneStepPerCall => "step_tries::test_work_without_a_retry_is_a_first_try";
}

fn forget(lease: &mut WorkLease) {
    if let WorkItem::ActivityExecute { id, .. } = &lease.item {
        lease.step = StepTry::first(*id);
    }
}

#[async_trait]
impl Bug for RetryNotKept {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.retries.clear();
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for RetryLosesNumber {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        for retry in &mut commit.turn.retries {
            retry.step.number = 1;
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for FusedRetryNotKept {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if matches!(commit.authority, Authority::FinishedWork { .. }) {
            commit.turn.retries.clear();
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for RedeliveryLosesStep {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        leases.iter_mut().filter(|lease| lease.attempt > 1).for_each(forget);
        Ok(leases)
    }
}

#[async_trait]
impl Bug for WaitingCallNotToldTry {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let waits = !request.wait.is_zero();
        let mut leases = store.lease_work(request).await?;
        if waits {
            leases.iter_mut().for_each(forget);
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for OneStepPerCall {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        if let Some(first) = leases.first().map(|lease| lease.step) {
            let later = leases.iter_mut().skip(1).filter(|lease| lease.step.number == 1);
            later.for_each(|lease| lease.step = first);
        }
        Ok(leases)
    }
}
