//! Activities: order and completion.

use std::sync::Mutex;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{FinishedWork, LeaseWork, Operation, Rejection, StoreError, WorkLease};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::{Store, addressee};

bugs! {
    /// An activity is handed out as one of the first execution.
    WorkOfFirstExecution => "queue_semantics::test_work_arrives_as_sent";
    /// The youngest activity is leased first.
    YoungestWorkFirst => "queue_semantics::test_worker_queue_fifo_ordering";
    /// An activity that waits for its time holds up those behind it.
    HiddenWorkBlocksQueue => "queue_semantics::test_worker_delayed_visibility_skips_future_items";
    /// A new activity can be leased a second later.
    WorkVisibleLater { born: Mutex<Vec<(WorkItem, u64)>> } => "queue_semantics::test_worker_item_immediate_visibility";
    /// An ack of an activity does not tell its instance.
    CompletionLost => "queue_semantics::test_worker_ack_atomicity";
    /// An ack of an activity tells its instance twice.
    CompletionTwice => "queue_semantics::test_concurrent_work_acks_complete_once";
    /// The instance is told of an activity even if the ack is refused.
    CompletionOfRefusedAck => "queue_semantics::test_worker_ack_atomicity";
    /// An ack of an activity leaves it in the queue.
    AckLeavesWork => "queue_semantics::test_worker_ack_atomicity";
    /// The instance is told before the activity is removed: a dropped ack tells it, and the activity comes back.
    DroppedAckTells => "atomicity::test_dropped_work_ack_is_all_or_nothing";
    /// An activity is removed when it is leased, so one whose worker dies is lost.
    WorkRemovedOnLease { taken: Mutex<Vec<String>> } => "atomicity::test_dropped_work_fetch_loses_nothing";
    /// An unreadable activity is put aside, and its instance waits for ever.
    UnreadableWorkNotTold => "unreadable_rows::test_unreadable_work_is_put_aside_and_told_after_ten_attempts";
    /// An ack without a completion does nothing.
    SilentAckIgnored => "cancellation::test_ack_work_item_none_deletes_without_enqueue";
    /// A completion for another instance is taken.
    ForeignCompletion => "error_handling::test_completion_for_another_instance_is_refused";
    /// Anything can be enqueued for workers.
    AnythingIsWork => "error_handling::test_each_queue_refuses_what_belongs_to_the_other";
    /// An activity can be sent as a message.
    ActivityIsMail => "error_handling::test_each_queue_refuses_what_belongs_to_the_other";
    /// An activity of what does not exist cannot be finished.
    OrphanWorkStuck => "cancellation::test_activity_of_unknown_instance_can_be_finished";
    /// Activities of an instance that is leased wait until its turn is over.
    WorkWaitsForTurn => "instance_locking::test_work_of_a_leased_instance_goes_on";
    /// An unreadable activity fails every fetch.
    UnreadableWorkFailsFetch => "unreadable_rows::test_unreadable_work_blocks_no_other_work";
    /// An unreadable activity holds up those behind it.
    UnreadableWorkBlocksQueue => "unreadable_rows::test_unreadable_work_blocks_no_other_work";
}

#[async_trait]
impl Bug for WorkOfFirstExecution {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        for lease in &mut leases {
            if let WorkItem::ActivityExecute { execution_id, .. } = &mut lease.item {
                *execution_id = 1;
            }
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for YoungestWorkFirst {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let limit = request.limit;
        let mut all = store.lease_work(LeaseWork { limit: 100, ..request }).await?;
        all.reverse();
        for lease in all.drain(limit.min(all.len())..) {
            store.give_work_back(&lease.token).await;
        }
        Ok(all)
    }
}

#[async_trait]
impl Bug for HiddenWorkBlocksQueue {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let work = store.dump().work;
        if work
            .values()
            .find(|work| work.leased_until.is_none())
            .is_some_and(|work| work.visible_at.is_some())
        {
            return Ok(Vec::new());
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for WorkVisibleLater {
    async fn enqueue_for_worker(&self, store: &Store, item: WorkItem) -> Answer<()> {
        self.born.lock().unwrap().push((item.clone(), store.now().as_millis()));
        store.enqueue_for_worker(item).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let born = self.born.lock().unwrap().clone();
        let now = store.now().as_millis();
        let is_new =
            |lease: &WorkLease| born.iter().any(|(item, at)| *item == lease.item && at + 1_000 > now);
        store.lease_work_but(request, is_new).await
    }
}

#[async_trait]
impl Bug for CompletionLost {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        store.finish(FinishedWork { completion: None, ..finished }).await
    }
}

#[async_trait]
impl Bug for CompletionTwice {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let again = finished.completion.clone();
        store.finish(finished).await?;
        if let Some(item) = again {
            store.enqueue_for_orchestrator(item, None).await.expect("a completion can be sent");
        }
        Ok(())
    }
}

#[async_trait]
impl Bug for CompletionOfRefusedAck {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let completion = finished.completion.clone();
        let answer = store.finish(finished).await;
        if let (Err(_), Some(item)) = (&answer, completion) {
            // What is no message is refused once more.
            let _sent = store.enqueue_for_orchestrator(item, None).await;
        }
        answer
    }
}

#[async_trait]
impl Bug for AckLeavesWork {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let job = store.job(&finished.token);
        store.finish(finished).await?;
        if let Some(job) = job {
            store.enqueue_for_worker(job.lease.item).await.expect("an activity can be enqueued");
        }
        Ok(())
    }
}

#[async_trait]
impl Bug for DroppedAckTells {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let FinishedWork { token, completion } = finished;
        if store.renew_work_item_lock(&token, Duration::ZERO).await.is_ok() {
            if let Some(item) = completion {
                // What is no message is lost.
                let _sent = store.enqueue_for_orchestrator(item, None).await;
            }
            tokio::task::yield_now().await;
            return store.finish(FinishedWork { token, completion: None }).await;
        }
        store.finish(FinishedWork { token, completion }).await
    }
}

impl WorkRemovedOnLease {
    /// What was taken with this token, if it is not finished and its time is not over.
    fn taken(&self, store: &Store, token: &str) -> Option<WorkItem> {
        let is_taken = self.taken.lock().unwrap().iter().any(|taken| taken == token);
        let job = store.job(token).filter(|job| is_taken && job.until > store.now());
        job.map(|job| job.lease.item)
    }

    fn forget(&self, token: &str) {
        self.taken.lock().unwrap().retain(|taken| taken != token);
    }
}

#[async_trait]
impl Bug for WorkRemovedOnLease {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let leases = store.lease_work(request).await?;
        for lease in &leases {
            store.ack_work_item(&lease.token, None).await.expect("the lease is held");
            self.taken.lock().unwrap().push(lease.token.clone());
        }
        tokio::task::yield_now().await;
        Ok(leases)
    }

    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        if self.taken(store, &finished.token).is_none() {
            return store.finish(finished).await;
        }
        self.forget(&finished.token);
        if let Some(completion) = finished.completion {
            store.enqueue_for_orchestrator(completion, None).await.expect("a completion can be sent");
        }
        Ok(())
    }

    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        match self.taken(store, token) {
            None => store.abandon_work_item(token, delay, ignore_attempt).await,
            Some(item) => {
                self.forget(token);
                store.enqueue_for_worker(item).await
            }
        }
    }

    async fn renew_work_item_lock(&self, store: &Store, token: &str, extend_for: Duration) -> Answer<()> {
        match self.taken(store, token) {
            None => store.renew_work_item_lock(token, extend_for).await,
            Some(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Bug for UnreadableWorkNotTold {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let before = store.dump();
        let leases = store.lease_work(request).await?;
        let after = store.dump();
        let told = after.messages.iter().filter(|(number, _)| !before.messages.contains_key(number));
        for (number, message) in told {
            store.remove_mail(&message.mailbox, |other| other == *number).await;
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for SilentAckIgnored {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        if finished.completion.is_none() {
            return Ok(());
        }
        store.finish(finished).await
    }
}

#[async_trait]
impl Bug for ForeignCompletion {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let FinishedWork { token, completion } = finished.clone();
        match (completion, store.job(&token)) {
            (Some(completion @ WorkItem::ActivityCompleted { .. }), Some(job))
                if addressee(&completion) != addressee(&job.lease.item) =>
            {
                store.finish(FinishedWork { token, completion: None }).await?;
                store.enqueue_for_orchestrator(completion, None).await.expect("a completion can be sent");
                Ok(())
            }
            (_, _) => store.finish(finished).await,
        }
    }
}

#[async_trait]
impl Bug for AnythingIsWork {
    async fn enqueue_for_worker(&self, store: &Store, item: WorkItem) -> Answer<()> {
        store.enqueue_for_worker(item).await.or(Ok(()))
    }
}

#[async_trait]
impl Bug for ActivityIsMail {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        store.enqueue_for_orchestrator(item, delay).await.or(Ok(()))
    }
}

#[async_trait]
impl Bug for OrphanWorkStuck {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let job = store.job(&finished.token);
        if job.is_some_and(|job| !store.is_instance(addressee(&job.lease.item))) {
            return Err(StoreError::rejected(Operation::FinishWork, Rejection::Invalid, "no such instance"));
        }
        store.finish(finished).await
    }
}

#[async_trait]
impl Bug for WorkWaitsForTurn {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let instances = store.dump().instances;
        let is_leased = |name: &str| instances.get(name).is_some_and(|dump| dump.leased_until.is_some());
        store.lease_work_but(request, |lease| is_leased(addressee(&lease.item))).await
    }
}

/// Whether there is a visible activity that cannot be read.
fn unreadable_work(store: &Store) -> bool {
    store.dump().work.values().any(|work| work.visible_at.is_none() && work.json == "{")
}

#[async_trait]
impl Bug for UnreadableWorkFailsFetch {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        if unreadable_work(store) {
            return Err(StoreError::not_applied(Operation::LeaseWork, "an activity cannot be read"));
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for UnreadableWorkBlocksQueue {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        if unreadable_work(store) {
            return Ok(Vec::new());
        }
        store.lease_work(request).await
    }
}
