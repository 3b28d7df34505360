//! Mail: order, visibility, and mail for nobody.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use abide_model::{SystemStats, Timestamp, WorkItem};
use abide_provider::{
    BATCH_BYTES, Committed, Consumed, InstanceLease, LeaseInstances, MAIL_WAITS_FOR_START, OrchestrationItem,
    TurnCommit,
};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::{Store, addressee};

bugs! {
    /// The messages of a batch come in the wrong order.
    MailReversed => "queue_semantics::test_messages_arrive_in_order_of_enqueueing";
    /// A batch has one message only, so mail is handed out over many turns.
    OneMessageABatch => "instance_locking::test_message_tagging_during_lock";
    /// Mail that arrives during a turn is removed with its ack.
    AckRemovesNewMail => "instance_locking::test_ack_only_affects_locked_messages";
    /// An ack leaves the messages of its turn in the queue.
    AckLeavesMail => "atomicity::test_multi_operation_atomic_ack";
    /// Mail that does not fit into a batch is lost.
    OverflowLost { overflow: Mutex<HashMap<String, Vec<u64>>> } => "batches::test_large_messages_are_leased_in_order_and_once";
    /// A message that is larger than a batch may be is never handed out.
    OversizeNeverLeased => "unread_mail::test_lease_hands_out_a_bounded_size_of_messages";
    /// A lease call grants as many leases as it was asked for, however much they bring.
    BoundlessLeaseCalls => "batches::test_lease_calls_bring_a_bounded_size";
    /// Text ends at its first zero.
    TextEndsAtZero => "error_handling::test_awkward_text_survives";
    /// A timer is visible when it is enqueued, not when it is due.
    TimersAtOnce { due: Mutex<HashMap<(String, u64, u64), u64>> } => "queue_semantics::test_timer_delayed_visibility";
    /// A timer whose time is past is dropped.
    PastTimerLost => "queue_semantics::test_timer_of_the_past_is_visible_at_once";
    /// The result of a child does not reach its parent.
    ChildResultLost => "queue_semantics::test_child_result_reaches_its_parent";
    /// A message that is sent with a delay is visible at once.
    DelayedMailAtOnce => "queue_semantics::test_delayed_message_waits_its_time";
    /// A message that is sent with a delay is lost.
    DelayedMailLost => "queue_semantics::test_delayed_message_waits_its_time";
    /// Mail for what does not exist stands at the head of the queue, and nobody behind it is served.
    OrphanBlocksQueue => "orphan_mail::test_signal_for_nobody_blocks_nobody";
    /// An instance that is leased stands at the head of the queue, and nobody behind it is served.
    FirstCandidateOnly => "instance_locking::test_cross_instance_lock_isolation";
    /// Queue messages for what does not exist are kept, and read by whoever gets that name.
    OrphanQueueMessagesKept { kept: Mutex<Vec<WorkItem>> } => "queue_semantics::test_orphan_queue_messages_dropped";
    /// Results, timers and answers for what does not exist are kept, and read by whoever gets that name.
    OrphanAnswersKept { kept: Mutex<Vec<WorkItem>> } => "orphan_mail::test_answers_for_nobody_are_dropped";
    /// All mail for what does not exist is dropped, signals and cancellations too.
    OrphanMailDropped => "orphan_mail::test_mail_for_nobody_waits_for_a_start";
    /// Mail that waits for a start does so for ever.
    WaitsForStartForEver { sent: Mutex<Vec<(Timestamp, WorkItem)>> } => "waiting_mail::test_mail_that_waited_too_long_does_not_reach_a_start";
    /// Mail that waited for a start is gone after its time, although there is one.
    ExpiresBehindAStart { sent: Mutex<Vec<(Timestamp, WorkItem)>> } => "waiting_mail::test_mail_that_has_a_start_stays";
    /// Mail for what does not exist can be leased, without a start.
    OrphanMailLeased => "orphan_mail::test_mail_for_nobody_is_never_fetched_alone";
    /// A message that is enqueued makes an instance.
    EnqueueMakesInstance => "instance_creation::test_no_instance_creation_on_enqueue";
    /// A version that was left to the registry shows as an empty one.
    NoVersionIsEmpty => "instance_creation::test_null_version_handling";
    /// A start for an instance that exists renames it.
    SecondStartRenames => "instance_creation::test_second_start_is_mail";
}

#[async_trait]
impl Bug for MailReversed {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            lease.messages.reverse();
        }
        Ok(leases)
    }

    fn shape(&self, item: &mut OrchestrationItem) {
        item.messages.reverse();
    }
}

#[async_trait]
impl Bug for OneMessageABatch {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            lease.messages.truncate(1);
        }
        Ok(leases)
    }

    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let turn = store.last_turn_of(&commit.instance);
        let first = turn.and_then(|turn| turn.lease.messages.first().map(|message| message.id));
        let consumed = match commit.consumed {
            Consumed::All => Consumed::These(first.into_iter().collect()),
            Consumed::These(ids) => Consumed::These(ids),
        };
        store.commit(TurnCommit { consumed, ..commit }).await
    }
}

#[async_trait]
impl Bug for AckRemovesNewMail {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let new = store.unleased_mail(&instance);
        let committed = store.commit(commit).await?;
        if !new.is_empty() {
            store.remove_mail(&instance, |number| new.contains(&number)).await;
        }
        Ok(committed)
    }
}

#[async_trait]
impl Bug for AckLeavesMail {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        store.commit(TurnCommit { consumed: Consumed::These(Vec::new()), ..commit }).await
    }
}

#[async_trait]
impl Bug for OverflowLost {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let leases = store.lease_instances(request).await?;
        for lease in &leases {
            let overflow = store.unleased_mail(&lease.instance);
            self.overflow.lock().unwrap().insert(lease.token.clone(), overflow);
        }
        Ok(leases)
    }

    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let token = store.last_turn_of(&instance).map(|turn| turn.lease.token).unwrap_or_default();
        let committed = store.commit(commit).await?;
        let overflow = self.overflow.lock().unwrap().remove(&token).unwrap_or_default();
        if !overflow.is_empty() {
            store.remove_mail(&instance, |number| overflow.contains(&number)).await;
        }
        Ok(committed)
    }
}

#[async_trait]
impl Bug for OversizeNeverLeased {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let is_large = |item: &WorkItem| matches!(item, WorkItem::ExternalRaised { data, .. } if data.len() > BATCH_BYTES);
        store
            .lease_instances_but(request, |lease| {
                lease.messages.iter().any(|message| is_large(&message.item))
            })
            .await
    }
}

#[async_trait]
impl Bug for BoundlessLeaseCalls {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request.clone()).await?;
        while !leases.is_empty() && leases.len() < request.limit {
            let (limit, wait) = (request.limit - leases.len(), Duration::ZERO);
            let more = store.lease_instances(LeaseInstances { limit, wait, ..request.clone() }).await?;
            if more.is_empty() {
                break;
            }
            leases.extend(more);
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for TextEndsAtZero {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        mut item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        if let WorkItem::ExternalRaised { data, .. } = &mut item {
            data.truncate(data.find('\0').unwrap_or(data.len()));
        }
        store.enqueue_for_orchestrator(item, delay).await
    }
}

impl TimersAtOnce {
    fn hasten(&self, item: &mut WorkItem) {
        if let WorkItem::TimerFired { instance, execution_id, id, fire_at_ms } = item {
            self.due.lock().unwrap().insert((instance.clone(), *execution_id, *id), *fire_at_ms);
            *fire_at_ms = 0;
        }
    }

    fn restore(&self, item: &mut WorkItem) {
        if let WorkItem::TimerFired { instance, execution_id, id, fire_at_ms } = item {
            let due = self.due.lock().unwrap().get(&(instance.clone(), *execution_id, *id)).copied();
            *fire_at_ms = due.unwrap_or(*fire_at_ms);
        }
    }
}

#[async_trait]
impl Bug for TimersAtOnce {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        mut item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        self.hasten(&mut item);
        store.enqueue_for_orchestrator(item, delay).await
    }

    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.orchestrator_items.iter_mut().for_each(|item| self.hasten(item));
        store.commit(commit).await
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        let messages = leases.iter_mut().flat_map(|lease| &mut lease.messages);
        messages.for_each(|message| self.restore(&mut message.item));
        Ok(leases)
    }
}

#[async_trait]
impl Bug for PastTimerLost {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let now = store.now().as_millis();
        let is_past =
            |item: &WorkItem| matches!(item, WorkItem::TimerFired { fire_at_ms, .. } if *fire_at_ms < now);
        commit.turn.orchestrator_items.retain(|item| !is_past(item));
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for ChildResultLost {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let is_result = |item: &WorkItem| {
            matches!(item, WorkItem::SubOrchCompleted { .. } | WorkItem::SubOrchFailed { .. })
        };
        commit.turn.orchestrator_items.retain(|item| !is_result(item));
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for DelayedMailAtOnce {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        _: Option<Duration>,
    ) -> Answer<()> {
        store.enqueue_for_orchestrator(item, None).await
    }
}

#[async_trait]
impl Bug for DelayedMailLost {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        match delay {
            None => store.enqueue_for_orchestrator(item, None).await,
            Some(_) => Ok(()),
        }
    }
}

/// The name of the mailbox whose visible message is the oldest.
fn head_of_queue(store: &Store) -> Option<String> {
    let messages = store.dump().messages;
    let head = messages.into_values().find(|message| message.visible_at.is_none());
    head.map(|message| message.mailbox)
}

fn can_start(store: &Store, name: &str) -> bool {
    let messages = store.dump().messages;
    messages
        .values()
        .any(|message| message.mailbox == name && matches!(message.class.as_str(), "Start" | "ContinueAsNew"))
}

fn is_orphan(store: &Store, name: &str) -> bool {
    !store.is_instance(name) && !can_start(store, name)
}

#[async_trait]
impl Bug for OrphanBlocksQueue {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        match head_of_queue(store) {
            Some(head) if is_orphan(store, &head) => Ok(Vec::new()),
            Some(_) | None => store.lease_instances(request).await,
        }
    }
}

#[async_trait]
impl Bug for FirstCandidateOnly {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let head = head_of_queue(store).and_then(|head| store.dump().instances.remove(&head));
        match head.and_then(|head| head.leased_until) {
            Some(_) => Ok(Vec::new()),
            None => store.lease_instances(request).await,
        }
    }
}

#[async_trait]
impl Bug for OrphanQueueMessagesKept {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        let name = addressee(&item).to_owned();
        let is_queue_message = matches!(item, WorkItem::QueueMessage { .. });
        if is_queue_message && is_orphan(store, &name) {
            self.kept.lock().unwrap().push(item);
            return Ok(());
        }
        store.enqueue_for_orchestrator(item, delay).await?;
        if is_orphan(store, &name) {
            return Ok(());
        }
        let kept: Vec<WorkItem> = self.kept.lock().unwrap().clone();
        self.kept.lock().unwrap().retain(|item| addressee(item) != name);
        for item in kept.into_iter().filter(|item| addressee(item) == name) {
            store.enqueue_for_orchestrator(item, None).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Bug for OrphanAnswersKept {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        let name = addressee(&item).to_owned();
        let is_answer = matches!(
            item,
            WorkItem::ActivityCompleted { .. }
                | WorkItem::ActivityFailed { .. }
                | WorkItem::SubOrchCompleted { .. }
                | WorkItem::SubOrchFailed { .. }
        );
        if is_answer && is_orphan(store, &name) {
            self.kept.lock().unwrap().push(item);
            return Ok(());
        }
        store.enqueue_for_orchestrator(item, delay).await?;
        if is_orphan(store, &name) {
            return Ok(());
        }
        let kept: Vec<WorkItem> = self.kept.lock().unwrap().clone();
        self.kept.lock().unwrap().retain(|item| addressee(item) != name);
        for item in kept.into_iter().filter(|item| addressee(item) == name) {
            store.enqueue_for_orchestrator(item, None).await?;
        }
        Ok(())
    }
}

/// Mail of this name that has waited for too long.
fn expired(sent: &Mutex<Vec<(Timestamp, WorkItem)>>, name: &str, now: Timestamp) -> Vec<WorkItem> {
    let is_over = |at: Timestamp| at.saturating_add(MAIL_WAITS_FOR_START) <= now;
    let sent = sent.lock().unwrap();
    let over = sent.iter().filter(|(at, item)| is_over(*at) && addressee(item) == name);
    over.map(|(_, item)| item.clone()).collect()
}

fn is_signal_or_cancel(item: &WorkItem) -> bool {
    matches!(item, WorkItem::ExternalRaised { .. } | WorkItem::CancelInstance { .. })
}

#[async_trait]
impl Bug for WaitsForStartForEver {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        let name = addressee(&item).to_owned();
        if matches!(item, WorkItem::StartOrchestration { .. }) {
            for item in expired(&self.sent, &name, store.now()) {
                store.enqueue_for_orchestrator(item, None).await?;
            }
        } else if is_signal_or_cancel(&item) && is_orphan(store, &name) {
            self.sent.lock().unwrap().push((store.now(), item.clone()));
        }
        store.enqueue_for_orchestrator(item, delay).await
    }
}

#[async_trait]
impl Bug for ExpiresBehindAStart {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        if is_signal_or_cancel(&item) && is_orphan(store, addressee(&item)) {
            self.sent.lock().unwrap().push((store.now(), item.clone()));
        }
        store.enqueue_for_orchestrator(item, delay).await
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            let gone = expired(&self.sent, &lease.instance, store.now());
            lease.messages.retain(|message| !gone.contains(&message.item));
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for OrphanMailDropped {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        let starts = matches!(item, WorkItem::StartOrchestration { .. } | WorkItem::ContinueAsNew { .. });
        if !starts && is_orphan(store, addressee(&item)) {
            return Ok(());
        }
        store.enqueue_for_orchestrator(item, delay).await
    }
}

#[async_trait]
impl Bug for OrphanMailLeased {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let leases = store.lease_instances(request.clone()).await?;
        let orphan = head_of_queue(store).filter(|head| is_orphan(store, head));
        match orphan {
            Some(name) if leases.is_empty() => {
                // A start that nobody sent makes it leasable.
                let start = WorkItem::StartOrchestration {
                    instance: name,
                    orchestration: String::new(),
                    input: String::new(),
                    version: None,
                    parent_instance: None,
                    parent_id: None,
                    parent_execution_id: None,
                    execution_id: 1,
                };
                store.enqueue_for_orchestrator(start, None).await.expect("a start can be sent");
                let mut leases = store.lease_instances(request).await?;
                for lease in &mut leases {
                    lease
                        .messages
                        .retain(|message| !matches!(message.item, WorkItem::StartOrchestration { .. }));
                }
                Ok(leases)
            }
            Some(_) | None => Ok(leases),
        }
    }
}

#[async_trait]
impl Bug for EnqueueMakesInstance {
    async fn get_instance_stats(&self, store: &Store, instance: &str) -> Answer<Option<SystemStats>> {
        let stats = store.get_instance_stats(instance).await?;
        let has_mail = store.dump().messages.values().any(|message| message.mailbox == instance);
        Ok(stats.or_else(|| has_mail.then(SystemStats::default)))
    }

    async fn list_instances(&self, store: &Store) -> Answer<Vec<String>> {
        let mut listed = store.list_instances().await?;
        let named = store.dump().messages.into_values().map(|message| message.mailbox);
        let new: Vec<String> = named.filter(|name| !store.is_instance(name)).collect();
        listed.splice(0..0, new);
        Ok(listed)
    }
}

#[async_trait]
impl Bug for NoVersionIsEmpty {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in leases.iter_mut().filter(|lease| lease.orchestration_version == "unknown") {
            lease.orchestration_version.clear();
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for SecondStartRenames {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            for message in &lease.messages {
                if let WorkItem::StartOrchestration { orchestration, .. } = &message.item {
                    lease.orchestration_name.clone_from(orchestration);
                }
            }
        }
        Ok(leases)
    }
}
