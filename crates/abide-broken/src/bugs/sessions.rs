//! Sessions: who owns one, for how long, and what counts as use.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use abide_model::{Timestamp, WorkItem};
use abide_provider::{
    FinishedWork, LeaseWork, Operation, Rejection, RenewSessions, SessionFetchConfig, StoreError, TagFilter,
    WorkLease,
};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// Activities of a session go to any worker.
    AffinityIgnored => "sessions::test_session_affinity_blocks_other_worker";
    /// Two workers that claim a session at the same time both get it.
    LostRaceSharesSession => "sessions::test_concurrent_claims_of_many_sessions_keep_each_with_one_owner";
    /// A worker that takes no sessions gets their activities.
    SessionsForEveryone => "sessions::test_none_session_skips_session_items";
    /// A worker that takes sessions gets nothing else.
    SessionsOnly => "sessions::test_non_session_items_returned_with_session_config";
    /// A session belongs to its worker half as long as it should.
    SessionTakenTooEarly => "sessions::test_taking_more_work_extends_the_session_lock";
    /// A session belongs to its worker for ever.
    SessionNeverFree => "sessions::test_session_takeover_after_lock_expiry";
    /// A session belongs to its worker as long as the activity is leased.
    SessionLockedLikeActivity => "sessions::test_session_lock_lasts_as_long_as_the_fetch_says";
    /// Taking more work of a session does not lock it longer.
    MoreWorkDoesNotExtend => "sessions::test_taking_more_work_extends_the_session_lock";
    /// Sessions of one name are kept apart by instance.
    SessionPerInstance => "sessions::test_session_is_shared_by_all_instances";
    /// Renewing also renews sessions that were not used for long.
    RenewsIdleSessions => "sessions::test_renew_session_lock_skips_idle";
    /// Renewing also renews sessions of other workers.
    RenewsSessionsOfOthers => "sessions::test_renew_session_lock_leaves_other_owners_alone";
    /// Renewing looks at the first of several owners only.
    RenewsOneOwner => "sessions::test_renew_session_lock_counts_sessions_of_all_owners";
    /// Renewing a session does not make it last longer.
    SessionRenewDoesNothing => "sessions::test_session_lock_renewal_extends_past_original_timeout";
    /// Renewing always says that nothing was renewed.
    SessionRenewSaysZero => "sessions::test_renew_session_lock_active";
    /// Renewing revives sessions whose lock ran out.
    SessionRenewRevives => "sessions::test_renew_session_lock_after_expiry_returns_zero";
    /// Renewing also renews sessions that only hold up work of other nodes.
    RenewsUnservedSessions => "serving::test_session_with_unserved_work_is_not_renewed";
    /// Renewing leaves out a session in which work of other nodes waits, though work of it is under way.
    RenewalForgetsLeases => "serving::test_session_with_work_under_way_is_renewed";
    /// Finishing an activity is no use of its session.
    AckIsNoUse { used: Mutex<HashMap<String, Timestamp>> } => "sessions::test_ack_updates_session_last_activity";
    /// Renewing an activity is no use of its session.
    RenewIsNoUse { used: Mutex<HashMap<String, Timestamp>> } => "sessions::test_renew_work_item_updates_session_last_activity";
    /// Cleaning up forgets sessions that have activities in the queue.
    CleanupTakesPending => "sessions::test_cleanup_keeps_sessions_with_pending_items";
    /// Cleaning up forgets sessions that belong to somebody.
    CleanupTakesOwned { forgotten: Mutex<bool> } => "sessions::test_cleanup_keeps_active_sessions";
    /// Cleaning up forgets nothing.
    CleanupDoesNothing => "sessions::test_cleanup_removes_expired_no_items";
    /// Cleaning up waits until a session was idle long enough, though nobody owns it.
    CleanupWaitsForIdle => "sessions::test_cleanup_ignores_the_idle_time_of_expired_sessions";
    /// An activity can be finished only while its session is locked.
    AckNeedsSession => "sessions::test_ack_after_session_expiry_does_not_revive_the_session";
    /// An activity that is given back leaves its session.
    AbandonLeavesSession => "sessions::test_abandoned_session_item_retryable";
    /// An activity with an unwanted tag claims its session.
    UnwantedTagClaims => "sessions::test_session_item_with_unwanted_tag_claims_nothing";
}

fn session_of(item: &WorkItem) -> Option<&str> {
    let WorkItem::ActivityExecute { session_id, .. } = item else { return None };
    session_id.as_deref()
}

/// Leases as the owner of each session that somebody else holds, if there is nothing otherwise.
async fn lease_from_others(store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
    let mut leases = store.lease_work(request.clone()).await?;
    let owners: Vec<String> = store.dump().sessions.into_values().map(|session| session.owner).collect();
    for owner_id in owners {
        if let (true, Some(config)) = (leases.is_empty(), &request.session) {
            let session = Some(SessionFetchConfig { owner_id, ..config.clone() });
            leases = store.lease_work(LeaseWork { session, ..request.clone() }).await?;
        }
    }
    Ok(leases)
}

/// Leases with another session configuration.
async fn lease_as(
    store: &Store,
    request: LeaseWork,
    change: impl Fn(SessionFetchConfig) -> SessionFetchConfig,
) -> StoreAnswer<Vec<WorkLease>> {
    let session = request.session.map(change);
    store.lease_work(LeaseWork { session, ..request }).await
}

#[async_trait]
impl Bug for AffinityIgnored {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_from_others(store, request).await
    }
}

/// The session of the oldest activity that waits, if it is nobody's.
fn free_session(store: &Store) -> Option<String> {
    let (dump, now) = (store.dump(), store.now().as_millis());
    let is_free = |name: &String| dump.sessions.get(name).is_none_or(|session| session.locked_until <= now);
    let mut waiting = dump.work.values().filter(|work| work.leased_until.is_none());
    waiting.find_map(|work| work.session.clone().filter(is_free))
}

#[async_trait]
impl Bug for LostRaceSharesSession {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let chosen = free_session(store);
        tokio::task::yield_now().await;
        let _moment = store.moment().await;
        let now = store.now().as_millis();
        let owner = chosen.as_ref().and_then(|name| store.dump().sessions.remove(name));
        let owner = owner.filter(|owner| owner.locked_until > now);
        if let (Some(chosen), Some(owner), Some(config)) = (chosen, owner, request.session.clone()) {
            let session = Some(SessionFetchConfig { owner_id: owner.owner, ..config });
            let as_owner = LeaseWork { session, ..request.clone() };
            let is_other = |lease: &WorkLease| session_of(&lease.item) != Some(chosen.as_str());
            let leases = store.lease_work_but(as_owner, is_other).await?;
            if !leases.is_empty() {
                return Ok(leases);
            }
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for SessionsForEveryone {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let nobody =
            SessionFetchConfig { owner_id: "nobody".to_owned(), lock_timeout: Duration::from_millis(1) };
        let session = request.session.or(Some(nobody));
        store.lease_work(LeaseWork { session, ..request }).await
    }
}

#[async_trait]
impl Bug for SessionsOnly {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let takes_sessions = request.session.is_some();
        let is_hidden = |lease: &WorkLease| takes_sessions && session_of(&lease.item).is_none();
        store.lease_work_but(request, is_hidden).await
    }
}

#[async_trait]
impl Bug for SessionTakenTooEarly {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_as(store, request, |session| SessionFetchConfig {
            lock_timeout: session.lock_timeout / 2,
            ..session
        })
        .await
    }
}

#[async_trait]
impl Bug for SessionNeverFree {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_as(store, request, |session| SessionFetchConfig { lock_timeout: Duration::MAX, ..session })
            .await
    }
}

#[async_trait]
impl Bug for SessionLockedLikeActivity {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let lock_timeout = request.lease_for;
        lease_as(store, request, |session| SessionFetchConfig { lock_timeout, ..session }).await
    }
}

#[async_trait]
impl Bug for MoreWorkDoesNotExtend {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let now = store.now();
        let locked =
            store.dump().sessions.into_values().find(|session| session.locked_until > now.as_millis());
        let left = locked.map(|session| Duration::from_millis(session.locked_until - now.as_millis()));
        let leases = lease_as(store, request, |session| SessionFetchConfig {
            lock_timeout: left.unwrap_or(session.lock_timeout),
            ..session
        });
        leases.await
    }
}

#[async_trait]
impl Bug for SessionPerInstance {
    async fn enqueue_for_worker(&self, store: &Store, mut item: WorkItem) -> Answer<()> {
        if let WorkItem::ActivityExecute { instance, session_id: Some(session), .. } = &mut item {
            *session = format!("{session}/{instance}");
        }
        store.enqueue_for_worker(item).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        for lease in &mut leases {
            if let WorkItem::ActivityExecute { instance, session_id: Some(session), .. } = &mut lease.item {
                *session = session.trim_end_matches(&format!("/{instance}")).to_owned();
            }
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for RenewsIdleSessions {
    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        extend_for: Duration,
        _: Duration,
    ) -> Answer<usize> {
        store.renew_session_lock(owners, extend_for, Duration::MAX).await
    }
}

#[async_trait]
impl Bug for RenewsSessionsOfOthers {
    async fn renew_session_lock(
        &self,
        store: &Store,
        _: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        let all: Vec<String> = store.dump().sessions.into_values().map(|session| session.owner).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        store.renew_session_lock(&all, extend_for, idle_timeout).await
    }
}

#[async_trait]
impl Bug for RenewsUnservedSessions {
    async fn renew_sessions(&self, store: &Store, request: RenewSessions) -> StoreAnswer<usize> {
        store.renew_sessions(RenewSessions { tags: TagFilter::Any, serving: None, ..request }).await
    }
}

#[async_trait]
impl Bug for RenewalForgetsLeases {
    async fn renew_sessions(&self, store: &Store, request: RenewSessions) -> StoreAnswer<usize> {
        let under_way = store.dump().work.into_values().any(|work| work.leased_until.is_some());
        if under_way { Ok(0) } else { store.renew_sessions(request).await }
    }
}

#[async_trait]
impl Bug for RenewsOneOwner {
    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        store.renew_session_lock(&owners[..owners.len().min(1)], extend_for, idle_timeout).await
    }
}

#[async_trait]
impl Bug for SessionRenewDoesNothing {
    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        _: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        store.renew_session_lock(owners, Duration::ZERO, idle_timeout).await
    }
}

#[async_trait]
impl Bug for SessionRenewSaysZero {
    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        store.renew_session_lock(owners, extend_for, idle_timeout).await.map(|_| 0)
    }
}

#[async_trait]
impl Bug for SessionRenewRevives {
    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        let now = store.now();
        let sessions = store.dump().sessions.into_values();
        let theirs = sessions.filter(|session| owners.contains(&session.owner.as_str()));
        let end = theirs.map(|session| session.locked_until).min().unwrap_or(u64::MAX);
        let before = Timestamp::from_millis(end.saturating_sub(1).min(now.as_millis()));
        let late = now.saturating_duration_since(before);
        let renewed = store.renew_session_lock(owners, extend_for + late, idle_timeout);
        store.at(before, renewed)
    }
}

/// Renews only for owners whose sessions were used recently, by this account.
async fn renew_used(
    store: &Store,
    used: &HashMap<String, Timestamp>,
    owners: &[&str],
    extend_for: Duration,
    idle_timeout: Duration,
) -> Answer<usize> {
    let now = store.now();
    let sessions = store.dump().sessions;
    let is_idle = |owner: &str| {
        let theirs = sessions.iter().filter(|(_, session)| session.owner == owner);
        let mut last = theirs.filter_map(|(name, _)| used.get(name));
        last.any(|last| last.saturating_add(idle_timeout) <= now)
    };
    let active: Vec<&str> = owners.iter().copied().filter(|owner| !is_idle(owner)).collect();
    store.renew_session_lock(&active, extend_for, idle_timeout).await
}

fn note_use(used: &Mutex<HashMap<String, Timestamp>>, store: &Store, items: &[WorkLease]) {
    let sessions = items.iter().filter_map(|lease| session_of(&lease.item));
    used.lock().unwrap().extend(sessions.map(|session| (session.to_owned(), store.now())));
}

#[async_trait]
impl Bug for AckIsNoUse {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let leases = store.lease_work(request).await?;
        note_use(&self.used, store, &leases);
        Ok(leases)
    }

    async fn renew_work_item_lock(&self, store: &Store, token: &str, extend_for: Duration) -> Answer<()> {
        store.renew_work_item_lock(token, extend_for).await?;
        let leases: Vec<WorkLease> = store.job(token).map(|job| job.lease).into_iter().collect();
        note_use(&self.used, store, &leases);
        Ok(())
    }

    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        let used = self.used.lock().unwrap().clone();
        renew_used(store, &used, owners, extend_for, idle_timeout).await
    }
}

#[async_trait]
impl Bug for RenewIsNoUse {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let leases = store.lease_work(request).await?;
        note_use(&self.used, store, &leases);
        Ok(leases)
    }

    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let leases: Vec<WorkLease> = store.job(&finished.token).map(|job| job.lease).into_iter().collect();
        store.finish(finished).await?;
        note_use(&self.used, store, &leases);
        Ok(())
    }

    async fn renew_session_lock(
        &self,
        store: &Store,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Answer<usize> {
        let used = self.used.lock().unwrap().clone();
        renew_used(store, &used, owners, extend_for, idle_timeout).await
    }
}

#[async_trait]
impl Bug for CleanupTakesPending {
    async fn cleanup_orphaned_sessions(&self, store: &Store, idle_timeout: Duration) -> Answer<usize> {
        let now = store.now().as_millis();
        let expired = store.dump().sessions.values().filter(|session| session.locked_until <= now).count();
        store.cleanup_orphaned_sessions(idle_timeout).await.map(|_| expired)
    }
}

#[async_trait]
impl Bug for CleanupTakesOwned {
    async fn cleanup_orphaned_sessions(&self, store: &Store, idle_timeout: Duration) -> Answer<usize> {
        let sessions = store.dump().sessions.len();
        *self.forgotten.lock().unwrap() = true;
        store.cleanup_orphaned_sessions(idle_timeout).await.map(|_| sessions)
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        if *self.forgotten.lock().unwrap() {
            return lease_from_others(store, request).await;
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for CleanupDoesNothing {
    async fn cleanup_orphaned_sessions(&self, _: &Store, _: Duration) -> Answer<usize> {
        Ok(0)
    }
}

#[async_trait]
impl Bug for CleanupWaitsForIdle {
    async fn cleanup_orphaned_sessions(&self, store: &Store, idle_timeout: Duration) -> Answer<usize> {
        let idle_since = store.now().saturating_sub(idle_timeout).as_millis();
        let sessions = store.dump().sessions;
        if sessions.values().any(|session| session.last_activity > idle_since) {
            return Ok(0);
        }
        store.cleanup_orphaned_sessions(idle_timeout).await
    }
}

#[async_trait]
impl Bug for AckNeedsSession {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let item = store.job(&finished.token).map(|job| job.lease.item);
        let session = item.as_ref().and_then(session_of);
        let locked_until = session.and_then(|name| store.dump().sessions.remove(name)?.locked_until.into());
        if locked_until.is_some_and(|until| until <= store.now().as_millis()) {
            let why = "the session is not yours";
            return Err(StoreError::rejected(Operation::FinishWork, Rejection::LeaseLost, why));
        }
        store.finish(finished).await
    }
}

#[async_trait]
impl Bug for AbandonLeavesSession {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        if let Some(mut item) = store.job(token).map(|job| job.lease.item)
            && let WorkItem::ActivityExecute { session_id: session @ Some(_), .. } = &mut item
        {
            *session = None;
            store.ack_work_item(token, None).await?;
            return store.enqueue_for_worker(item).await;
        }
        store.abandon_work_item(token, delay, ignore_attempt).await
    }
}

#[async_trait]
impl Bug for UnwantedTagClaims {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let tags = request.tags.clone();
        let is_unwanted = |lease: &WorkLease| matches!(&lease.item, WorkItem::ActivityExecute { tag, .. } if !tags.matches(tag.as_deref()));
        let all = LeaseWork { tags: TagFilter::Any, ..request };
        store.lease_work_but(all, is_unwanted).await
    }
}
