//! Activities that are taken back with their execution.

use abide_provider::{RevokeWork, RevokedWork, StolenBecause};
use async_trait::async_trait;

use crate::bug::{Bug, StoreAnswer, is_lost};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// Taking back the activities of an execution takes nothing back.
    RevokesNothing => "revoked_executions::test_activities_of_an_execution_are_taken_back_in_parts";
    /// One call takes back everything, however many activities there are.
    RevokesAllAtOnce => "revoked_executions::test_activities_of_an_execution_are_taken_back_in_parts";
    /// A call with a large limit takes back more than a batch.
    RevokesMoreThanABatch => "revoked_executions::test_one_call_takes_back_at_most_a_batch";
    /// Activities of other executions are taken back, too.
    RevokesEveryExecution => "revoked_executions::test_other_executions_and_instances_keep_their_activities";
    /// Taking back without a lease is said to have worked.
    RevokesWithoutLease => "revoked_executions::test_taking_back_needs_a_valid_lease";
    /// Taking back activities ends the lease on their instance.
    RevokingEndsLease => "revoked_executions::test_taking_back_does_not_end_the_lease";
    /// The holder of an activity that was taken back is told another reason.
    RevokedWithoutReason => "revoked_executions::test_holder_hears_why_its_execution_lost_its_activities";
}

#[async_trait]
impl Bug for RevokesNothing {
    async fn revoke_work(&self, _: &Store, _: RevokeWork) -> StoreAnswer<RevokedWork> {
        Ok(RevokedWork::default())
    }
}

/// Repeats a call until nothing is left, and answers for all of it.
async fn revoke_all(store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
    let mut all = RevokedWork::default();
    loop {
        let revoked = store.revoke_work(revoke.clone()).await?;
        all.count += revoked.count;
        if !revoked.more {
            return Ok(all);
        }
    }
}

#[async_trait]
impl Bug for RevokesAllAtOnce {
    async fn revoke_work(&self, store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        revoke_all(store, revoke).await
    }
}

#[async_trait]
impl Bug for RevokesMoreThanABatch {
    async fn revoke_work(&self, store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        if revoke.limit > 1_000 {
            return revoke_all(store, revoke).await;
        }
        store.revoke_work(revoke).await
    }
}

#[async_trait]
impl Bug for RevokesEveryExecution {
    async fn revoke_work(&self, store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        let next = RevokeWork { execution_id: revoke.execution_id + 1, ..revoke.clone() };
        let revoked = store.revoke_work(revoke).await?;
        store.revoke_work(next).await?;
        Ok(revoked)
    }
}

#[async_trait]
impl Bug for RevokesWithoutLease {
    async fn revoke_work(&self, store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        let answer = store.revoke_work(revoke).await;
        if is_lost(&answer) { Ok(RevokedWork::default()) } else { answer }
    }
}

#[async_trait]
impl Bug for RevokingEndsLease {
    async fn revoke_work(&self, store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        let token = revoke.token.clone();
        let revoked = store.revoke_work(revoke).await?;
        if !revoked.more && revoked.count > 0 {
            // The token was valid a moment ago.
            let _ended = store.abandon_orchestration_item(&token, None, true).await;
        }
        Ok(revoked)
    }
}

#[async_trait]
impl Bug for RevokedWithoutReason {
    async fn revoke_work(&self, store: &Store, revoke: RevokeWork) -> StoreAnswer<RevokedWork> {
        store.revoke_work(RevokeWork { because: StolenBecause::Dropped, ..revoke }).await
    }
}
