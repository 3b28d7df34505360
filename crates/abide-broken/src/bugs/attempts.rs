//! Attempts, and what a delay hides.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{Committed, InstanceLease, LeaseInstances, LeaseWork, TurnCommit, WorkLease};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// A turn whose lease runs out is no attempt.
    ExpiryIsNoAttempt => "poison_message::orchestration_attempt_count_increments_on_refetch";
    /// An activity whose lease runs out is no attempt.
    ExpiryOfWorkIsNoAttempt => "poison_message::worker_attempt_count_increments_on_lock_expiry";
    /// Attempts of turns are counted from zero.
    AttemptsFromZero => "poison_message::orchestration_attempt_count_starts_at_one";
    /// Attempts of activities are counted from zero.
    AttemptsOfWorkFromZero => "poison_message::worker_attempt_count_starts_at_one";
    /// A turn that is given back counts as an attempt even if it should not.
    IgnoreAttemptIgnored => "poison_message::abandon_orchestration_item_ignore_attempt_decrements";
    /// An activity that is given back counts as an attempt even if it should not.
    IgnoreAttemptOfWorkIgnored => "poison_message::abandon_work_item_ignore_attempt_decrements";
    /// A turn that is given back never counts as an attempt.
    AbandonIsNoAttempt => "poison_message::orchestration_attempt_count_increments_on_refetch";
    /// An ignored attempt is subtracted from a count that does not have it yet, which wraps.
    IgnoredAttemptWraps { ignored: Mutex<HashMap<String, u32>> } => "poison_message::ignore_attempt_never_goes_negative";
    /// Attempts are counted for each instance, not for each message.
    AttemptsPerInstance { counts: Mutex<HashMap<String, u32>> } => "poison_message::attempt_count_is_per_message";
    /// The lease has the attempts of its last message, not the most.
    AttemptOfLastMessage => "poison_message::max_attempt_count_across_message_batch";
    /// A delayed turn comes back at once.
    DelayForgotten => "lock_expiration::test_abandon_orchestration_item_with_delay";
    /// A delayed activity comes back at once.
    DelayOfWorkForgotten => "lock_expiration::test_abandon_work_item_with_delay";
    /// A delayed turn hides all mail of the instance, also what was not leased.
    DelayHidesAllMail => "poison_message::orchestration_delayed_abandon_preserves_unlocked_rows";
    /// Giving a turn back counts an attempt for mail that was not leased.
    AbandonCountsAllMail => "poison_message::orchestration_delayed_abandon_preserves_unlocked_rows";
}

#[async_trait]
impl Bug for ExpiryIsNoAttempt {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let now = store.now();
        for turn in store.turns().into_iter().filter(|turn| turn.until <= now) {
            let token = &turn.lease.token;
            // Most of them are over for another reason.
            let _over = store.at(turn.at, store.abandon_orchestration_item(token, None, true));
        }
        store.lease_instances(request).await
    }
}

#[async_trait]
impl Bug for ExpiryOfWorkIsNoAttempt {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let now = store.now();
        for job in store.jobs().into_iter().filter(|job| job.until <= now) {
            // Most of them are over for another reason.
            let _over = store.at(job.at, store.abandon_work_item(&job.lease.token, None, true));
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for AttemptsFromZero {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            lease.attempt -= 1;
            lease.messages.iter_mut().for_each(|message| message.attempt -= 1);
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for AttemptsOfWorkFromZero {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        for lease in &mut leases {
            lease.attempt -= 1;
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for IgnoreAttemptIgnored {
    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        _: bool,
    ) -> Answer<()> {
        store.abandon_orchestration_item(token, delay, false).await
    }
}

#[async_trait]
impl Bug for IgnoreAttemptOfWorkIgnored {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        _: bool,
    ) -> Answer<()> {
        store.abandon_work_item(token, delay, false).await
    }
}

#[async_trait]
impl Bug for AbandonIsNoAttempt {
    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        _: bool,
    ) -> Answer<()> {
        store.abandon_orchestration_item(token, delay, true).await
    }
}

#[async_trait]
impl Bug for IgnoredAttemptWraps {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        for lease in &mut leases {
            let ignored = self.ignored.lock().unwrap().get(&key_of(&lease.item)).copied();
            lease.attempt = lease.attempt.wrapping_sub(ignored.unwrap_or_default());
        }
        Ok(leases)
    }

    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        store.abandon_work_item(token, delay, ignore_attempt).await?;
        if let Some(job) = store.job(token)
            && ignore_attempt
        {
            *self.ignored.lock().unwrap().entry(key_of(&job.lease.item)).or_default() += 1;
        }
        Ok(())
    }
}

fn key_of(item: &WorkItem) -> String {
    format!("{item:?}")
}

#[async_trait]
impl Bug for AttemptsPerInstance {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            let mut counts = self.counts.lock().unwrap();
            let count = counts.entry(lease.instance.clone()).or_default();
            *count = (*count).max(lease.attempt - 1) + 1;
            lease.attempt = *count;
            lease.messages.iter_mut().for_each(|message| message.attempt = *count);
        }
        Ok(leases)
    }

    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        self.counts.lock().unwrap().remove(&commit.instance);
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AttemptOfLastMessage {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            lease.attempt = lease.messages.last().map_or(1, |message| message.attempt);
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for DelayForgotten {
    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        _: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        store.abandon_orchestration_item(token, None, ignore_attempt).await
    }
}

#[async_trait]
impl Bug for DelayOfWorkForgotten {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        _: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        store.abandon_work_item(token, None, ignore_attempt).await
    }
}

#[async_trait]
impl Bug for DelayHidesAllMail {
    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        let instance = store.turn(token).map(|turn| turn.lease.instance).unwrap_or_default();
        store.abandon_orchestration_item(token, delay, ignore_attempt).await?;
        if delay.is_some()
            && let Some(rest) = store.lease(&instance).await
        {
            store.abandon_orchestration_item(&rest.token, delay, true).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Bug for AbandonCountsAllMail {
    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        let Some(turn) = store.turn(token) else {
            return store.abandon_orchestration_item(token, delay, ignore_attempt).await;
        };
        // The rest is leased with it, and given back with it.
        store.abandon_orchestration_item(token, None, true).await?;
        let lease = store.lease(&turn.lease.instance).await.expect("the mail is there");
        store.abandon_orchestration_item(&lease.token, delay, ignore_attempt).await
    }
}
