//! Crash suspects: how many a call is granted, and which of their leases count.

use std::collections::HashSet;
use std::sync::Mutex;

use abide_provider::{BlockInstance, InstanceLease, Lane, LeaseInstances, LeaseWork, WorkLease};
use async_trait::async_trait;

use crate::bug::{Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// One call is granted two suspects.
    TwoSuspects => "serving::test_one_call_is_granted_one_suspect";
    /// One call is granted two suspect activities.
    TwoSuspectActivities => "serving::test_one_call_is_granted_one_suspect_activity";
    /// A lease on a suspect counts although its code did not run.
    WaitingSuspectCounts => "serving::test_suspect_counts_once_its_code_runs";
    /// A lease on a suspect never counts.
    SuspectNeverCounts => "serving::test_suspect_counts_once_its_code_runs";
    /// A lease on a suspect activity counts although its code did not run.
    WaitingSuspectActivityCounts => "serving::test_suspect_activity_counts_once_its_code_runs";
    /// What came to a block as a suspect stays one.
    BlockedSuspectStays { blocked: Mutex<HashSet<String>> } => "blocking::test_cancel_of_a_blocked_suspect_needs_no_room_for_one";
    /// The code of a suspect begins although its lease is lost.
    BeginWithoutLease => "serving::test_suspect_begins_under_a_valid_lease";
}

#[async_trait]
impl Bug for TwoSuspects {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request.clone()).await?;
        let limit = request.limit.saturating_sub(leases.len());
        if limit > 0 && !leases.is_empty() {
            leases.extend(store.lease_instances(LeaseInstances { limit, ..request }).await?);
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for TwoSuspectActivities {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request.clone()).await?;
        let limit = request.limit.saturating_sub(leases.len());
        if limit > 0 && !leases.is_empty() {
            leases.extend(store.lease_work(LeaseWork { limit, ..request }).await?);
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for WaitingSuspectCounts {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let leases = store.lease_instances(request).await?;
        for lease in &leases {
            store.begin_suspect(Lane::Instances, &lease.token).await?;
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for WaitingSuspectActivityCounts {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let leases = store.lease_work(request).await?;
        for lease in &leases {
            store.begin_suspect(Lane::Work, &lease.token).await?;
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for SuspectNeverCounts {
    async fn begin_suspect(&self, _store: &Store, _lane: Lane, _token: &str) -> StoreAnswer<()> {
        Ok(())
    }
}

#[async_trait]
impl Bug for BeginWithoutLease {
    async fn begin_suspect(&self, store: &Store, lane: Lane, token: &str) -> StoreAnswer<()> {
        let _lost = store.begin_suspect(lane, token).await;
        Ok(())
    }
}

#[async_trait]
impl Bug for BlockedSuspectStays {
    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        let lease = store.turn(&block.token).map(|turn| turn.lease);
        if let Some(lease) = lease.filter(|lease| lease.suspicion().is_suspect()) {
            self.blocked.lock().unwrap().insert(lease.instance);
        }
        store.block_instance(block).await
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        if request.serving.as_ref().is_none_or(|serving| serving.takes_suspect) {
            return store.lease_instances(request).await;
        }
        let blocked = self.blocked.lock().unwrap().clone();
        store.lease_instances_but(request, |lease| blocked.contains(&lease.instance)).await
    }
}
