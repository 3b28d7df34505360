//! Waiting: parked fetches, due times, and word of leases that were taken away.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_conformance::Polling;
use abide_model::{Timestamp, WorkItem};
use abide_provider::{
    InstanceLease, Lane, LeaseInstances, LeaseWork, StolenBecause, StolenLeases, WorkLease,
};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use futures_util::stream;
use tokio::sync::Notify;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// A fetch that finds nothing answers at once.
    NeverWaits => "long_polling::test_long_poll_waits_for_timeout";
    /// A fetch waits a moment although it should answer at once.
    AlwaysWaits => "long_polling::test_zero_timeout_returns_immediately";
    /// A fetch waits until there is something, although it should answer at once.
    WaitsForMail => "parking::test_lease_calls_that_may_not_wait_answer_at_once";
    /// A fetch waits twice as long as it should.
    WaitsTooLong => "long_polling::test_fetch_respects_timeout_upper_bound";
    /// A fetch that waits for mail is not woken by it.
    NotWokenByMail => "long_polling::test_long_poll_ends_with_new_mail";
    /// A fetch that waits for work is not woken by it.
    NotWokenByWork => "long_polling::test_long_poll_ends_with_new_work";
    /// A fetch waits although there is something.
    WaitsDespiteMail => "long_polling::test_fetch_with_mail_does_not_wait";
    /// A store that says that it answers at once waits.
    WaitsUnexpectedly => "long_polling::test_short_poll_returns_immediately";
    /// A fetch that waits is not woken when a lease is given back.
    NotWokenByAbandon => "parking::test_lease_on_an_instance_given_back_wakes_who_waits";
    /// A fetch that waits is not woken when a timer is due.
    NotWokenByTime => "parking::test_timer_wakes_who_waits";
    /// A fetch that is woken by mail of somebody else answers that there is nothing.
    WokenForNothing { sent: Notify } => "parking::test_mail_for_nobody_wakes_nobody";
    /// A fetch that nobody waits for any more takes work along.
    DroppedFetchTakesWork => "parking::test_dropping_a_parked_call_loses_nothing";
    /// The store says that something is due later than it is.
    DueTooLate => "due_times::test_due_times_lead_to_a_timer";
    /// The store says that nothing will ever be due.
    NothingDue => "due_times::test_due_times_lead_to_delayed_messages";
    /// The store says that something will be due though there is nothing.
    AlwaysDue => "due_times::test_nothing_is_due_in_an_empty_store";
    /// The end of a lease is not known as a due time.
    EndOfLeaseNotDue => "due_times::test_due_times_lead_to_the_end_of_a_lease_on_an_instance";
    /// What is due in one queue is told of the other.
    DueOfOtherLane => "due_times::test_due_times_lead_to_the_end_of_a_lease_on_work";
    /// Who listens for leases that are taken away hears nothing.
    StolenNotTold => "pushed_cancellations::test_revoked_activity_is_told_as_dropped";
    /// Word of a lease that was taken away does not say why.
    StolenWithoutReason => "pushed_cancellations::test_end_of_an_execution_is_told";
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
        let wait = request.wait.max(Duration::from_secs(1));
        store.lease_instances(LeaseInstances { wait, ..request }).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let wait = request.wait.max(Duration::from_secs(1));
        store.lease_work(LeaseWork { wait, ..request }).await
    }
}

#[async_trait]
impl Bug for WaitsForMail {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let wait = request.wait.max(Duration::from_secs(12));
        store.lease_instances(LeaseInstances { wait, ..request }).await
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

impl Bug for WaitsUnexpectedly {
    fn polling(&self) -> Polling {
        Polling::Short
    }
}

/// What one who waits looks at again and again.
struct Seen {
    last_message: Option<u64>,
    leases: usize,
    visible: usize,
}

impl Seen {
    fn of(store: &Store) -> Self {
        let dump = store.dump();
        Self {
            last_message: dump.messages.last_key_value().map(|(number, _)| *number),
            leases: dump.instances.values().filter(|dump| dump.leased_until.is_some()).count(),
            visible: dump.messages.values().filter(|message| message.visible_at.is_none()).count(),
        }
    }
}

/// Leases when a look at the store says so.
async fn lease_when(
    store: &Store,
    request: LeaseInstances,
    has_come: impl Fn(&Seen, &Seen) -> bool + Send,
) -> StoreAnswer<Vec<InstanceLease>> {
    let deadline = store.clock().monotonic().saturating_add(request.wait);
    let at_once = LeaseInstances { wait: Duration::ZERO, ..request };
    loop {
        let before = Seen::of(store);
        let leases = store.lease_instances(at_once.clone()).await?;
        if !leases.is_empty() {
            return Ok(leases);
        }
        while !has_come(&before, &Seen::of(store)) {
            if store.clock().monotonic() >= deadline {
                return Ok(Vec::new());
            }
            pause(store, Duration::from_millis(5)).await;
        }
    }
}

#[async_trait]
impl Bug for NotWokenByAbandon {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        lease_when(store, request, |before, now| {
            before.last_message != now.last_message || before.visible < now.visible
        })
        .await
    }
}

#[async_trait]
impl Bug for NotWokenByTime {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        lease_when(store, request, |before, now| {
            before.last_message != now.last_message || before.leases > now.leases
        })
        .await
    }
}

#[async_trait]
impl Bug for WokenForNothing {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        store.enqueue_for_orchestrator(item, delay).await?;
        self.sent.notify_waiters();
        // Who waits looks before there is more.
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let at_once = LeaseInstances { wait: Duration::ZERO, ..request.clone() };
        let sent = pin!(self.sent.notified());
        let parked = pin!(store.lease_instances(request));
        match select(sent, parked).await {
            Either::Left(_) => store.lease_instances(at_once).await,
            Either::Right((leases, _)) => leases,
        }
    }
}

/// Notes that a future was dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Bug for DroppedFetchTakesWork {
    #[expect(clippy::disallowed_methods, reason = "that nobody supervises it is the mistake")]
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let is_dropped = Arc::new(AtomicBool::new(false));
        let guard = Dropped(Arc::clone(&is_dropped));
        let healthy = store.shared();
        let task = tokio::spawn(async move {
            let leases = healthy.lease_work(request).await?;
            tokio::task::yield_now().await;
            if is_dropped.load(Ordering::Relaxed) {
                for lease in &leases {
                    healthy.ack_work_item(&lease.token, None).await.expect("the lease is held");
                }
            }
            Ok(leases)
        });
        let leases = task.await.expect("a healthy store does not panic");
        drop(guard);
        leases
    }
}

#[async_trait]
impl Bug for AlwaysDue {
    async fn next_due(&self, store: &Store, lane: Lane) -> StoreAnswer<Option<Timestamp>> {
        let due = store.next_due(lane).await?;
        Ok(due.or_else(|| Some(store.now().saturating_add(Duration::from_secs(1)))))
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
