//! Tokens and the ends of leases: who may still do what.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{
    Authority, Committed, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer, is_lost};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// An ack of a turn is taken whatever its token says.
    AckIgnoresToken => "error_handling::test_invalid_lock_token_on_ack";
    /// An ack of a turn is taken although its lease ran out.
    ExpiredAckAccepted => "error_handling::test_lock_expiration_during_ack";
    /// An ack of an activity is taken although its lease ran out.
    ExpiredWorkAckAccepted => "lock_expiration::test_worker_ack_fails_after_lock_expiry";
    /// An ack of an activity is taken with the token of an earlier lease on it.
    StaleWorkAckAccepted => "queue_semantics::test_lost_lock_token_handling";
    /// Renewing revives a lease on an instance that ran out.
    RenewRevivesTurn => "lock_expiration::test_orchestration_lock_renewal_after_expiration";
    /// Renewing revives a lease on an activity that ran out.
    RenewRevivesWork => "lock_expiration::test_worker_lock_renewal_after_expiration";
    /// Renewing says yes to any token.
    RenewTakesAnyToken => "lock_expiration::test_worker_lock_renewal_invalid_token";
    /// Renewing a lease on an instance does not make it longer.
    RenewDoesNothing => "lock_expiration::test_orchestration_lock_renewal_extends_timeout";
    /// Renewing a lease on an activity does not make it longer.
    RenewOfWorkDoesNothing => "lock_expiration::test_worker_lock_renewal_extends_timeout";
    /// Renewing adds to the end of a lease instead of counting from now.
    RenewAddsUp => "lock_expiration::test_orchestration_lock_renewal_extends_timeout";
    /// A lease on an instance has run out when it is given.
    TurnBornExpired => "lock_expiration::test_lock_expires_after_timeout";
    /// A lease on an activity has run out when it is given.
    WorkBornExpired => "queue_semantics::test_worker_peek_lock_semantics";
    /// A lease on an instance never runs out.
    TurnLeasedForEver => "lock_expiration::test_lock_expires_after_timeout";
    /// A lease on an activity never runs out.
    WorkLeasedForEver => "poison_message::worker_attempt_count_increments_on_lock_expiry";
    /// Giving an instance back does nothing.
    AbandonDoesNothing => "lock_expiration::test_abandon_releases_lock_immediately";
    /// Giving an activity back does nothing.
    AbandonOfWorkDoesNothing => "lock_expiration::test_abandon_work_item_releases_lock";
    /// Giving an activity back removes it.
    AbandonRemovesWork => "lock_expiration::test_abandon_work_item_releases_lock";
    /// Who lost a lease on an instance gives back the lease of its successor.
    StaleAbandonAccepted => "instance_locking::test_stale_token_after_another_took_the_lease";
    /// Giving an activity back says yes to any token.
    AbandonOfWorkTakesAnyToken => "error_handling::test_invalid_lock_token_on_work";
    /// All leases on one instance have the same token.
    TokenPerInstance { last: Mutex<Vec<(String, String)>> } => "instance_locking::test_lock_token_uniqueness";
    /// The lease stays when its turn is acked.
    AckKeepsLease { held: Mutex<HashMap<String, Timestamp>> } => "lock_expiration::test_lock_renewal_on_ack";
    /// A refused ack gives the lease back.
    RefusedAckEndsLease => "atomicity::test_lock_released_only_on_successful_ack";
    /// Two fetches at the same time choose the same instance, and both get it.
    LostRaceSharesInstance => "instance_locking::test_multi_threaded_lock_contention";
    /// Two fetches choose the same instance, and the one that comes too late says that there is nothing.
    LostRaceIsEmpty => "instance_locking::test_concurrent_instance_fetching";
    /// Two fetches at the same time choose the same activity, and both get it.
    LostRaceSharesWork => "queue_semantics::test_concurrent_workers_get_different_work";
    /// Mail that arrives makes a leased instance leasable again.
    MailBreaksLease => "instance_locking::test_completions_arriving_during_lock_blocked";
}

fn token_of(commit: &TurnCommit) -> &str {
    match &commit.authority {
        Authority::Lease { token } | Authority::FinishedWork { token, .. } => token,
    }
}

fn with_token(commit: TurnCommit, token: String) -> TurnCommit {
    let authority = match commit.authority {
        Authority::Lease { .. } => Authority::Lease { token },
        Authority::FinishedWork { expected, .. } => Authority::FinishedWork { token, expected },
    };
    TurnCommit { authority, ..commit }
}

#[async_trait]
impl Bug for AckIgnoresToken {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let answer = store.commit(commit.clone()).await;
        let named = commit.turn.events.first().map(|event| event.instance_id.clone());
        let instance = named.unwrap_or_else(|| commit.instance.clone());
        match store.last_turn_of(&instance) {
            Some(turn) if is_lost(&answer) => {
                let commit = with_token(commit, turn.lease.token);
                store.commit(TurnCommit { instance, ..commit }).await
            }
            Some(_) | None => answer,
        }
    }
}

#[async_trait]
impl Bug for ExpiredAckAccepted {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        match store.turn(token_of(&commit)) {
            Some(turn) if turn.until <= store.now() => store.at(turn.at, store.commit(commit)),
            Some(_) | None => store.commit(commit).await,
        }
    }
}

#[async_trait]
impl Bug for ExpiredWorkAckAccepted {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        match store.job(&finished.token) {
            Some(job) if job.until <= store.now() => store.at(job.at, store.finish(finished)),
            Some(_) | None => store.finish(finished).await,
        }
    }
}

#[async_trait]
impl Bug for StaleWorkAckAccepted {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let mut answer = store.finish(finished.clone()).await;
        let Some(job) = store.job(&finished.token) else { return answer };
        let successors = store.jobs().into_iter().filter(|other| other.lease.item == job.lease.item);
        for successor in successors {
            if is_lost(&answer) {
                let finished = FinishedWork { token: successor.lease.token, ..finished.clone() };
                answer = store.finish(finished).await;
            }
        }
        answer
    }
}

#[async_trait]
impl Bug for RenewRevivesTurn {
    async fn renew_orchestration_item_lock(
        &self,
        store: &Store,
        token: &str,
        extend_for: Duration,
    ) -> Answer<()> {
        let Some(turn) = store.turn(token) else {
            return store.renew_orchestration_item_lock(token, extend_for).await;
        };
        let extend_for = extend_for + store.now().saturating_duration_since(turn.at);
        store.at(turn.at, store.renew_orchestration_item_lock(token, extend_for))
    }
}

#[async_trait]
impl Bug for RenewRevivesWork {
    async fn renew_work_item_lock(&self, store: &Store, token: &str, extend_for: Duration) -> Answer<()> {
        let Some(job) = store.job(token) else {
            return store.renew_work_item_lock(token, extend_for).await;
        };
        let extend_for = extend_for + store.now().saturating_duration_since(job.at);
        store.at(job.at, store.renew_work_item_lock(token, extend_for))
    }
}

#[async_trait]
impl Bug for RenewTakesAnyToken {
    async fn renew_work_item_lock(&self, store: &Store, token: &str, extend_for: Duration) -> Answer<()> {
        store.renew_work_item_lock(token, extend_for).await.or(Ok(()))
    }

    async fn renew_orchestration_item_lock(
        &self,
        store: &Store,
        token: &str,
        extend_for: Duration,
    ) -> Answer<()> {
        store.renew_orchestration_item_lock(token, extend_for).await.or(Ok(()))
    }
}

#[async_trait]
impl Bug for RenewDoesNothing {
    async fn renew_orchestration_item_lock(&self, store: &Store, token: &str, _: Duration) -> Answer<()> {
        store.renew_orchestration_item_lock(token, Duration::ZERO).await
    }
}

#[async_trait]
impl Bug for RenewOfWorkDoesNothing {
    async fn renew_work_item_lock(&self, store: &Store, token: &str, _: Duration) -> Answer<()> {
        store.renew_work_item_lock(token, Duration::ZERO).await
    }
}

#[async_trait]
impl Bug for RenewAddsUp {
    async fn renew_orchestration_item_lock(
        &self,
        store: &Store,
        token: &str,
        extend_for: Duration,
    ) -> Answer<()> {
        let left = store.turn(token).map(|turn| turn.until.saturating_duration_since(store.now()));
        store.renew_orchestration_item_lock(token, extend_for + left.unwrap_or_default()).await
    }
}

#[async_trait]
impl Bug for TurnBornExpired {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        store.lease_instances(LeaseInstances { lease_for: Duration::ZERO, ..request }).await
    }
}

#[async_trait]
impl Bug for WorkBornExpired {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        store.lease_work(LeaseWork { lease_for: Duration::ZERO, ..request }).await
    }
}

#[async_trait]
impl Bug for TurnLeasedForEver {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        store.lease_instances(LeaseInstances { lease_for: Duration::MAX, ..request }).await
    }
}

#[async_trait]
impl Bug for WorkLeasedForEver {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        store.lease_work(LeaseWork { lease_for: Duration::MAX, ..request }).await
    }
}

#[async_trait]
impl Bug for AbandonDoesNothing {
    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        _: Option<Duration>,
        _: bool,
    ) -> Answer<()> {
        store.renew_orchestration_item_lock(token, Duration::ZERO).await
    }
}

#[async_trait]
impl Bug for AbandonOfWorkDoesNothing {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        _: Option<Duration>,
        _: bool,
    ) -> Answer<()> {
        store.renew_work_item_lock(token, Duration::ZERO).await
    }
}

#[async_trait]
impl Bug for AbandonRemovesWork {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        _: Option<Duration>,
        _: bool,
    ) -> Answer<()> {
        store.ack_work_item(token, None).await
    }
}

#[async_trait]
impl Bug for StaleAbandonAccepted {
    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        let instance = store.turn(token).map(|turn| turn.lease.instance);
        let successor = instance.and_then(|instance| store.last_turn_of(&instance));
        let token = successor.map_or_else(|| token.to_owned(), |turn| turn.lease.token);
        store.abandon_orchestration_item(&token, delay, ignore_attempt).await
    }
}

#[async_trait]
impl Bug for AbandonOfWorkTakesAnyToken {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        store.abandon_work_item(token, delay, ignore_attempt).await.or(Ok(()))
    }
}

impl TokenPerInstance {
    /// The real token behind one that this provider gave.
    fn real(&self, token: &str) -> String {
        let last = self.last.lock().unwrap();
        let real = last.iter().rev().find(|(given, _)| given == token).map(|(_, real)| real.clone());
        real.unwrap_or_else(|| token.to_owned())
    }
}

#[async_trait]
impl Bug for TokenPerInstance {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            let given = format!("lock of {}", lease.instance);
            let real = std::mem::replace(&mut lease.token, given.clone());
            self.last.lock().unwrap().push((given, real));
        }
        Ok(leases)
    }

    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let token = self.real(token_of(&commit));
        let instance = store.turn(&token).map_or(commit.instance.clone(), |turn| turn.lease.instance);
        store.commit(TurnCommit { instance, ..with_token(commit, token) }).await
    }

    async fn abandon_orchestration_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        store.abandon_orchestration_item(&self.real(token), delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        store: &Store,
        token: &str,
        extend_for: Duration,
    ) -> Answer<()> {
        store.renew_orchestration_item_lock(&self.real(token), extend_for).await
    }
}

#[async_trait]
impl Bug for AckKeepsLease {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let (now, held) = (store.now(), self.held.lock().unwrap().clone());
        let is_held = |instance: &str| held.get(instance).is_some_and(|until| *until > now);
        store.lease_instances_but(request, |lease| is_held(&lease.instance)).await
    }

    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let turn = store.turn(token_of(&commit));
        let committed = store.commit(commit).await?;
        self.held.lock().unwrap().extend(turn.map(|turn| (turn.lease.instance, turn.until)));
        Ok(committed)
    }
}

#[async_trait]
impl Bug for RefusedAckEndsLease {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let token = token_of(&commit).to_owned();
        let answer = store.commit(commit).await;
        if answer.is_err() && store.renew_orchestration_item_lock(&token, Duration::ZERO).await.is_ok() {
            store.give_back(&token).await;
        }
        answer
    }
}

/// Which instance a fetch would take, after which others have their turn.
async fn choose_instance(store: &Store, request: &LeaseInstances) -> StoreAnswer<Option<String>> {
    let moment = store.moment().await;
    let chosen = store.lease_instances(LeaseInstances { limit: 1, ..request.clone() }).await?;
    let Some(chosen) = chosen.into_iter().next() else { return Ok(None) };
    store.give_back(&chosen.token).await;
    drop(moment);
    tokio::task::yield_now().await;
    Ok(Some(chosen.instance))
}

#[async_trait]
impl Bug for LostRaceSharesInstance {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let Some(chosen) = choose_instance(store, &request).await? else { return Ok(Vec::new()) };
        let _moment = store.moment().await;
        let leases = store.lease_instances_but(request, |lease| lease.instance != chosen).await?;
        let of_another = store.last_turn_of(&chosen).map(|turn| turn.lease);
        Ok(if leases.is_empty() { of_another.into_iter().collect() } else { leases })
    }
}

#[async_trait]
impl Bug for LostRaceIsEmpty {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let Some(chosen) = choose_instance(store, &request).await? else { return Ok(Vec::new()) };
        let _moment = store.moment().await;
        store.lease_instances_but(request, |lease| lease.instance != chosen).await
    }
}

#[async_trait]
impl Bug for LostRaceSharesWork {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let moment = store.moment().await;
        let chosen = store.lease_work(LeaseWork { limit: 1, ..request.clone() }).await?;
        let Some(chosen) = chosen.into_iter().next() else { return Ok(Vec::new()) };
        store.give_work_back(&chosen.token).await;
        drop(moment);
        tokio::task::yield_now().await;
        let _moment = store.moment().await;
        let leases = store.lease_work_but(request, |lease| lease.item != chosen.item).await?;
        let is_same = |lease: &WorkLease| lease.item == chosen.item && lease.token != chosen.token;
        let of_another = store.jobs().into_iter().map(|job| job.lease).find(is_same);
        Ok(if leases.is_empty() { of_another.into_iter().collect() } else { leases })
    }
}

#[async_trait]
impl Bug for MailBreaksLease {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let leases = store.lease_instances(request.clone()).await?;
        if !leases.is_empty() {
            return Ok(leases);
        }
        let now = store.now();
        for held in store.turns().into_iter().filter(|held| held.until > now) {
            let instance = &held.lease.instance;
            let is_held =
                store.renew_orchestration_item_lock(&held.lease.token, Duration::ZERO).await.is_ok();
            if is_held && !store.unleased_mail(instance).is_empty() {
                store.give_back(&held.lease.token).await;
                return store.lease_instances(request).await;
            }
        }
        Ok(leases)
    }
}
