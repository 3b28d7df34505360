//! Commits: what they write, and what a refused one must not write.

use std::sync::Mutex;

use abide_model::{Event, ScheduledActivityIdentifier, SystemStats, WorkItem};
use abide_provider::{Committed, Consumed, Operation, Rejection, StoreError, TurnCommit};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// An event whose number is taken is left out in silence.
    TakenEventIgnored => "error_handling::test_duplicate_event_id_rejection";
    /// An event without a number is left out in silence.
    EventZeroAccepted => "error_handling::test_event_id_zero_is_refused";
    /// Activities of a refused ack are enqueued.
    RefusedAckEnqueuesWork => "atomicity::test_atomicity_failure_rollback";
    /// Messages of a refused ack are sent.
    RefusedAckSendsMail => "atomicity::test_atomicity_failure_rollback";
    /// The messages of a refused ack are gone.
    RefusedAckConsumes => "atomicity::test_atomicity_failure_rollback";
    /// Activities of a refused ack are taken back.
    RefusedAckCancels => "cancellation::test_cancelling_with_a_refused_commit_takes_nothing_back";
    /// A refused first ack leaves an instance behind.
    RefusedAckMakesInstance { refused: Mutex<Vec<String>> } => "atomicity::test_refused_first_turn_creates_nothing";
    /// The activities of an ack are enqueued before its transaction: a dropped ack leaves them behind.
    DroppedAckLeavesWork => "atomicity::test_dropped_ack_is_all_or_nothing";
    /// Activities of an ack are not enqueued.
    AckLosesWork => "atomicity::test_multi_operation_atomic_ack";
    /// Messages of an ack are not sent.
    AckLosesMail => "atomicity::test_multi_operation_atomic_ack";
    /// Only the first message of an ack is sent.
    AckSendsOneMessage => "atomicity::test_multi_operation_atomic_ack";
    /// An ack that writes nothing does not consume its messages.
    EmptyAckConsumesNothing => "queue_semantics::test_empty_turn_consumes_its_batch";
    /// An ack rewrites the history it was handed, so a history that cannot be read is lost.
    AckNeedsReadableHistory => "capability_filtering::test_ack_appends_event_to_corrupted_history";
    /// Activities are taken back before those of the same ack are enqueued.
    CancelBeforeEnqueue => "cancellation::test_same_activity_in_worker_items_and_cancelled_is_noop";
    /// Taking one activity back takes all of its instance.
    CancelTakesAll => "cancellation::test_cancelled_activities_deleted_from_worker_queue";
    /// An activity that is leased cannot be taken back.
    CancelSparesLeased => "cancellation::test_ack_work_item_fails_when_entry_deleted";
    /// An activity is taken back by its number alone, whatever its execution.
    CancelIgnoresExecution => "cancellation::test_cancelling_names_instance_execution_and_activity";
    /// Only the first of several activities is taken back.
    CancelTakesOne => "cancellation::test_batch_cancellation_deletes_multiple_activities";
    /// Of many activities only a thousand are taken back.
    CancelTakesThousand => "cancellation::test_cancelling_thousands_of_activities_in_one_commit";
    /// Taking back what is not there fails the ack.
    CancelOfNothingFails => "cancellation::test_cancelling_nonexistent_activities_is_idempotent";
    /// An execution that ends takes all its activities with it.
    EndTakesWork => "cancellation::test_end_of_execution_takes_back_only_what_is_listed";
    /// An activity loses its tag when an ack enqueues it.
    AckLosesTag => "tag_filtering::test_tag_preserved_through_ack_orchestration_item";
    /// An activity loses its session when an ack enqueues it.
    AckLosesSession => "sessions::test_session_preserved_through_ack_orchestration_item";
}

#[async_trait]
impl Bug for TakenEventIgnored {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let taken = store.read_with_execution(&commit.instance, commit.turn.execution_id).await;
        let taken: Vec<u64> = taken.unwrap_or_default().iter().map(Event::event_id).collect();
        commit.turn.events.retain(|event| !taken.contains(&event.event_id));
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for EventZeroAccepted {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.events.retain(|event| event.event_id != 0);
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for RefusedAckEnqueuesWork {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let work = commit.turn.worker_items.clone();
        let answer = store.commit(commit).await;
        if answer.is_err() {
            for item in work {
                // What is no activity is refused once more.
                let _sent = store.enqueue_for_worker(item).await;
            }
        }
        answer
    }
}

#[async_trait]
impl Bug for RefusedAckSendsMail {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let mail = commit.turn.orchestrator_items.clone();
        let answer = store.commit(commit).await;
        if answer.is_err() {
            for item in mail {
                // What is no message is refused once more.
                let _sent = store.enqueue_for_orchestrator(item, None).await;
            }
        }
        answer
    }
}

#[async_trait]
impl Bug for RefusedAckConsumes {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let batch = store.dump().instances.remove(&instance).map(|dump| dump.batch).unwrap_or_default();
        let answer = store.commit(commit).await;
        if answer.as_ref().is_err_and(|error| error.rejection() != Some(Rejection::LeaseLost))
            && let Some(turn) = store.last_turn_of(&instance)
        {
            store.give_back(&turn.lease.token).await;
            store.remove_mail(&instance, |number| batch.contains(&number)).await;
        }
        answer
    }
}

#[async_trait]
impl Bug for RefusedAckCancels {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let cancelled = commit.turn.cancelled_activities.clone();
        let answer = store.commit(commit).await;
        if answer.is_err() {
            for lease in store.lease_all_work().await {
                if cancelled.contains(&activity_of(&lease.item)) {
                    store.ack_work_item(&lease.token, None).await.expect("the lease is held");
                } else {
                    store.give_work_back(&lease.token).await;
                }
            }
        }
        answer
    }
}

/// Names an activity.
fn activity_of(item: &WorkItem) -> ScheduledActivityIdentifier {
    let WorkItem::ActivityExecute { instance, execution_id, id, .. } = item else {
        panic!("this is no activity: {item:?}");
    };
    ScheduledActivityIdentifier { instance: instance.clone(), execution_id: *execution_id, activity_id: *id }
}

#[async_trait]
impl Bug for RefusedAckMakesInstance {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let answer = store.commit(commit).await;
        if answer.is_err() {
            self.refused.lock().unwrap().push(instance);
        }
        answer
    }

    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        let was_refused = self.refused.lock().unwrap().iter().any(|name| name == instance);
        let stats = store.get_instance_stats(instance).await?;
        Ok(stats.or_else(|| was_refused.then(SystemStats::default)))
    }
}

#[async_trait]
impl Bug for DroppedAckLeavesWork {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        for item in commit.turn.worker_items.drain(..) {
            // What is no activity is lost.
            let _sent = store.enqueue_for_worker(item).await;
        }
        tokio::task::yield_now().await;
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AckLosesWork {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.worker_items.clear();
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AckLosesMail {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.orchestrator_items.clear();
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AckSendsOneMessage {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.orchestrator_items.truncate(1);
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for EmptyAckConsumesNothing {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if commit.turn.events.is_empty() {
            commit.consumed = Consumed::These(Vec::new());
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AckNeedsReadableHistory {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        if let Err(error) = store.read(&commit.instance).await {
            let operation = Operation::CommitTurn;
            return Err(StoreError::rejected(operation, Rejection::Corrupt, error.message));
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CancelBeforeEnqueue {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let items = &commit.turn.worker_items;
        commit
            .turn
            .cancelled_activities
            .retain(|activity| items.iter().all(|item| activity_of(item) != *activity));
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CancelTakesAll {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let cancelled = &mut commit.turn.cancelled_activities;
        let instances: Vec<String> = cancelled.iter().map(|activity| activity.instance.clone()).collect();
        cancelled.extend(all_activities(store).filter(|activity| instances.contains(&activity.instance)));
        store.commit(commit).await
    }
}

/// Every activity in the queue.
fn all_activities(store: &Store) -> impl Iterator<Item = ScheduledActivityIdentifier> {
    store.dump().work.into_values().map(|work| ScheduledActivityIdentifier {
        instance: work.instance,
        execution_id: work.execution,
        activity_id: work.activity,
    })
}

#[async_trait]
impl Bug for CancelSparesLeased {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let leased = store.dump().work.into_values().filter(|work| work.leased_until.is_some());
        let leased: Vec<(String, u64)> = leased.map(|work| (work.instance, work.activity)).collect();
        commit
            .turn
            .cancelled_activities
            .retain(|activity| !leased.contains(&(activity.instance.clone(), activity.activity_id)));
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CancelIgnoresExecution {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let cancelled = &mut commit.turn.cancelled_activities;
        let named: Vec<u64> = cancelled.iter().map(|activity| activity.activity_id).collect();
        cancelled.extend(all_activities(store).filter(|activity| named.contains(&activity.activity_id)));
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CancelTakesOne {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.cancelled_activities.truncate(1);
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CancelTakesThousand {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.cancelled_activities.truncate(1_000);
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for CancelOfNothingFails {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let new = commit.turn.worker_items.iter().map(activity_of);
        let known: Vec<_> = all_activities(store).chain(new).collect();
        if commit.turn.cancelled_activities.iter().any(|activity| !known.contains(activity)) {
            let operation = Operation::CommitTurn;
            let why = "there is no such activity";
            return Err(StoreError::rejected(operation, Rejection::Conflict, why));
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for EndTakesWork {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let ends = commit.turn.metadata.status.as_deref().is_some_and(|status| status != "Running");
        if ends {
            let all = all_activities(store).filter(|activity| activity.instance == commit.instance);
            commit.turn.cancelled_activities.extend(all);
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AckLosesTag {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        for item in &mut commit.turn.worker_items {
            if let WorkItem::ActivityExecute { tag, .. } = item {
                *tag = None;
            }
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AckLosesSession {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        for item in &mut commit.turn.worker_items {
            if let WorkItem::ActivityExecute { session_id, .. } = item {
                *session_id = None;
            }
        }
        store.commit(commit).await
    }
}
