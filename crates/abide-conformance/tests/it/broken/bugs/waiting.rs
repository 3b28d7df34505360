//! Waiting: parked fetches, due times, and word of leases that were taken away.

use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{
    InstanceLease, Lane, LeaseInstances, LeaseWork, Provider, StolenBecause, StolenLeases, WorkLease,
};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream;

use crate::broken::bug::{Bug, StoreAnswer};
use crate::broken::planted::bugs;
use crate::broken::store::Store;

bugs! {
    /// A fetch that finds nothing answers at once.
    NeverWaits => "long_polling::test_long_poll_waits_for_timeout";
    /// A fetch waits although it should answer at once.
    AlwaysWaits => "long_polling::test_zero_timeout_returns_immediately";
    /// A fetch waits twice as long as it should.
    WaitsTooLong => "long_polling::test_fetch_respects_timeout_upper_bound";
    /// A fetch that waits for mail is not woken by it.
    NotWokenByMail => "long_polling::test_long_poll_ends_with_new_mail";
    /// A fetch that waits for work is not woken by it.
    NotWokenByWork => "long_polling::test_long_poll_ends_with_new_work";
    /// A fetch waits although there is something.
    WaitsDespiteMail => "long_polling::test_fetch_with_mail_does_not_wait";
    /// The store says that something is due later than it is.
    DueTooLate => "due_times::";
    /// The store says that nothing will ever be due.
    NothingDue => "due_times::";
    /// The end of a lease is not known as a due time.
    EndOfLeaseNotDue => "due_times::";
    /// What is due in one queue is told of the other.
    DueOfOtherLane => "due_times::";
    /// Who listens for leases that are taken away hears nothing.
    StolenNotTold => "pushed_cancellations::";
    /// Word of a lease that was taken away does not say why.
    StolenWithoutReason => "pushed_cancellations::";
}

#[async_trait]
impl Bug for NeverWaits {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        store.lease_instances(LeaseInstances { wait: Duration::ZERO, ..request }).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        store.lease_work(LeaseWork { wait: Duration::ZERO, ..request }).await
    }
}

/// Waits by the clock of the store.
async fn pause(store: &Store, duration: Duration) {
    store.clock().sleep_until(store.clock().monotonic().saturating_add(duration)).await;
}

#[async_trait]
impl Bug for AlwaysWaits {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let wait = request.wait.max(Duration::from_millis(500));
        store.lease_instances(LeaseInstances { wait, ..request }).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let wait = request.wait.max(Duration::from_millis(500));
        store.lease_work(LeaseWork { wait, ..request }).await
    }
}

#[async_trait]
impl Bug for WaitsTooLong {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let wait = request.wait * 10;
        store.lease_instances(LeaseInstances { wait, ..request }).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let wait = request.wait * 10;
        store.lease_work(LeaseWork { wait, ..request }).await
    }
}

#[async_trait]
impl Bug for NotWokenByMail {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let at_once = LeaseInstances { wait: Duration::ZERO, ..request.clone() };
        let leases = store.lease_instances(at_once.clone()).await?;
        if !leases.is_empty() || request.wait.is_zero() {
            return Ok(leases);
        }
        pause(store, request.wait).await;
        store.lease_instances(at_once).await
    }
}

#[async_trait]
impl Bug for NotWokenByWork {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let at_once = LeaseWork { wait: Duration::ZERO, ..request.clone() };
        let leases = store.lease_work(at_once.clone()).await?;
        if !leases.is_empty() || request.wait.is_zero() {
            return Ok(leases);
        }
        pause(store, request.wait).await;
        store.lease_work(at_once).await
    }
}

#[async_trait]
impl Bug for WaitsDespiteMail {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        if !request.wait.is_zero() {
            pause(store, request.wait).await;
        }
        store.lease_instances(LeaseInstances { wait: Duration::ZERO, ..request }).await
    }
}

#[async_trait]
impl Bug for DueTooLate {
    async fn next_due(&self, store: &Store, lane: Lane) -> StoreAnswer<Option<Timestamp>> {
        let due = store.next_due(lane).await?;
        Ok(due.map(|due| due.saturating_add(Duration::from_secs(10))))
    }
}

#[async_trait]
impl Bug for NothingDue {
    async fn next_due(&self, _: &Store, _: Lane) -> StoreAnswer<Option<Timestamp>> {
        Ok(None)
    }
}

#[async_trait]
impl Bug for EndOfLeaseNotDue {
    async fn next_due(&self, store: &Store, lane: Lane) -> StoreAnswer<Option<Timestamp>> {
        let due = store.next_due(lane).await?;
        let dump = store.dump();
        let ends = dump.instances.values().filter_map(|dump| dump.leased_until);
        let ends: Vec<u64> = ends.chain(dump.work.values().filter_map(|work| work.leased_until)).collect();
        Ok(due.filter(|due| !ends.contains(&due.as_millis())))
    }
}

#[async_trait]
impl Bug for DueOfOtherLane {
    async fn next_due(&self, store: &Store, lane: Lane) -> StoreAnswer<Option<Timestamp>> {
        let other = match lane {
            Lane::Instances => Lane::Work,
            Lane::Work => Lane::Instances,
        };
        store.next_due(other).await
    }
}

impl Bug for StolenNotTold {
    fn stolen_leases(&self, _: &Store) -> Option<StolenLeases> {
        Some(Box::pin(stream::empty()))
    }
}

impl Bug for StolenWithoutReason {
    fn stolen_leases(&self, store: &Store) -> Option<StolenLeases> {
        let told = store.stolen_leases()?;
        Some(Box::pin(told.map(|mut stolen| {
            stolen.because = StolenBecause::Dropped;
            stolen
        })))
    }
}
