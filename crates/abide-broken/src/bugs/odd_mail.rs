//! Messages that cannot be read, and requests that are repeated.

use std::sync::Mutex;

use abide_model::{Timestamp, WorkItem};
use abide_provider::{Enqueue, InstanceLease, LeaseInstances, Operation, Rejection, RequestKey, StoreError};
use async_trait::async_trait;

use crate::bug::{Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::{Store, addressee};

bugs! {
    /// The start of a child that cannot be read is put aside, and its parent waits for ever.
    LostChildNotTold => "lost_starts::test_parent_of_a_start_that_cannot_be_read_is_told";
    /// An unreadable message fails every fetch.
    UnreadableMailFailsFetch => "unreadable_rows::test_unreadable_message_blocks_no_other_instance";
    /// Unreadable mail of one instance hides the mail of all others.
    UnreadableMailBlocksQueue => "unreadable_rows::test_unreadable_message_blocks_no_other_instance";
    /// A message that cannot be read is tried for ever.
    UnreadableMailForEver { stopped: Mutex<Option<Timestamp>> } => "unreadable_rows::test_unreadable_message_is_put_aside_after_ten_attempts";
    /// A repeated request is sent again.
    RepeatedRequestSent => "keyed_requests::test_repeated_request_is_sent_once";
    /// A repeated request is refused.
    RepeatedRequestRefused { seen: Mutex<Vec<RequestKey>> } => "keyed_requests::test_repeated_request_is_sent_once";
    /// A repeated request is known only while its message waits.
    KeyForgottenWithMessage => "keyed_requests::test_repetition_is_known_after_the_message_was_consumed";
    /// The key of a refused request is remembered, so its correction is not sent.
    RefusedKeyRemembered { refused: Mutex<Vec<RequestKey>> } => "keyed_requests::test_refused_request_is_not_remembered";
    /// Two messages with the same text are taken for repetitions, whatever their keys.
    KeyedByText { seen: Mutex<Vec<WorkItem>> } => "keyed_requests::test_requests_with_different_keys_are_all_sent";
}

/// Whether there is a visible message that cannot be read.
fn unreadable_mail(store: &Store) -> bool {
    let messages = store.dump().messages;
    messages.values().any(|message| message.visible_at.is_none() && message.json == "{")
}

#[async_trait]
impl Bug for LostChildNotTold {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut kept = Vec::new();
        for lease in store.lease_instances(request).await? {
            let told =
                |message: &&abide_provider::Message| matches!(message.item, WorkItem::SubOrchFailed { .. });
            match lease.messages.iter().find(told) {
                None => kept.push(lease),
                Some(message) => {
                    store.give_back(&lease.token).await;
                    store.remove_mail(&lease.instance, |number| number == message.id.0).await;
                }
            }
        }
        Ok(kept)
    }
}

#[async_trait]
impl Bug for UnreadableMailFailsFetch {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        if unreadable_mail(store) {
            return Err(StoreError::not_applied(Operation::LeaseInstances, "a message cannot be read"));
        }
        store.lease_instances(request).await
    }
}

#[async_trait]
impl Bug for UnreadableMailBlocksQueue {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        if unreadable_mail(store) {
            return Ok(Vec::new());
        }
        store.lease_instances(request).await
    }
}

#[async_trait]
impl Bug for UnreadableMailForEver {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        // Time stands still before the attempt after which it would be put aside.
        let stopped = *self.stopped.lock().unwrap();
        if let Some(stopped) = stopped {
            let lease_for = request.lease_for + store.now().saturating_duration_since(stopped);
            return store.at(stopped, store.lease_instances(LeaseInstances { lease_for, ..request }));
        }
        let leases = store.lease_instances(request).await?;
        if store.dump().messages.values().any(|message| message.json == "{" && message.attempts == 10) {
            *self.stopped.lock().unwrap() = Some(store.now());
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for RepeatedRequestSent {
    async fn enqueue_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        let sent = store.enqueue_for_orchestrator(request.item, request.delay).await;
        sent.map_err(|error| StoreError::not_applied(Operation::EnqueueOnce, error.message))
    }
}

#[async_trait]
impl Bug for RepeatedRequestRefused {
    async fn enqueue_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        if self.seen.lock().unwrap().contains(&request.key) {
            let why = "this key was seen";
            return Err(StoreError::rejected(Operation::EnqueueOnce, Rejection::Conflict, why));
        }
        self.seen.lock().unwrap().push(request.key);
        store.enqueue_once(request).await
    }
}

#[async_trait]
impl Bug for KeyForgottenWithMessage {
    async fn enqueue_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        let name = addressee(&request.item).to_owned();
        if store.unleased_mail(&name).is_empty() {
            return RepeatedRequestSent {}.enqueue_once(store, request).await;
        }
        store.enqueue_once(request).await
    }
}

#[async_trait]
impl Bug for RefusedKeyRemembered {
    async fn enqueue_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        if self.refused.lock().unwrap().contains(&request.key) {
            return Ok(());
        }
        let key = request.key;
        let answer = store.enqueue_once(request).await;
        if answer.is_err() {
            self.refused.lock().unwrap().push(key);
        }
        answer
    }
}

#[async_trait]
impl Bug for KeyedByText {
    async fn enqueue_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        if self.seen.lock().unwrap().contains(&request.item) {
            return Ok(());
        }
        self.seen.lock().unwrap().push(request.item.clone());
        store.enqueue_once(request).await
    }
}
