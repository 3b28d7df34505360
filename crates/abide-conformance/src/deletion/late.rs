//! Who comes late: turns and activities of an instance that was deleted meanwhile.

use abide_provider::{DeleteInstanceResult, Force, Provider, ProviderError};

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{assert_gone, existing};
use crate::instance_locking::commit;
use crate::support::{Ack, Subject, activity, assert_refused, beside, completed, signal, start};

/// How often two calls meet.
const ROUNDS: usize = 20;

/// How often a call is repeated when the store asks for it.
const PATIENCE: usize = 100;

/// A turn that was running when its instance was deleted cannot be committed: it brings nothing back, sends nothing, and
/// does not touch a new instance of the same name.
pub async fn test_force_delete_prevents_ack_recreation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "next")).await;
    let turn = store.fetch("a").await;
    store.admin().delete_instance("a", true).await.expect("force deletes what runs");

    let late = || {
        let turn = Ack::of("a", 1).named("Order", "1.0.0").signalled(2);
        turn.scheduling(activity("a", 3)).mail(start("b")).mail(signal("a", "to itself"))
    };
    assert_refused(&store.try_ack(&turn.token, late()).await, "the commit of a turn of what is deleted");
    assert_gone(&store, "a").await;
    store.assert_no_turn("the refused commit sends nothing").await;
    store.assert_no_work("the refused commit enqueues nothing").await;

    store.create("a").await;
    let anew = Observed::of(&store, "a").await;
    assert_refused(&store.try_ack(&turn.token, late()).await, "a commit with the lease of the one before");
    let abandoned = store.abandon_orchestration_item(&turn.token, None, false).await;
    assert_refused(&abandoned, "giving back the lease of the one before");
    assert_eq!(
        Observed::of(&store, "a").await,
        anew,
        "the new instance was touched by a turn of the old one"
    );
    store.assert_no_turn("the refused commit sends nothing").await;
}

/// An activity that was running when its instance was deleted has nobody to tell: not the instance that has the name now,
/// even if that asked for the same activity.
pub async fn test_stale_activity_after_delete_recreate<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let stale = store.fetch_work().await;
    store.admin().delete_instance("a", true).await.expect("force deletes what runs");
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;

    let refused = store.ack_work_item(&stale.token, Some(completed("a", 2))).await;
    assert_refused(&refused, "the result of an activity of what is deleted");
    assert_refused(
        &store.renew_work_item_lock(&stale.token, store.lock()).await,
        "the renewal of deleted work",
    );
    let abandoned = store.abandon_work_item(&stale.token, None, false).await;
    assert_refused(&abandoned, "giving back deleted work");
    store.assert_no_turn("the new instance was told the result of the old one").await;

    let fresh = store.fetch_work().await;
    assert_eq!((fresh.id(), fresh.attempt), (2, 1), "the activity of the new instance is its own");
    let acked = store.ack_work_item(&fresh.token, Some(completed("a", 2))).await;
    acked.expect("the new activity is held by its own lease");
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)], "told once");
}

/// A deletion by force beside the commit of a turn: whichever is first, nothing of the instance is left, and what the turn
/// sends goes out only if it was committed.
pub async fn test_force_delete_beside_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for round in 0..ROUNDS {
        let (id, heir) = (format!("a{round}"), format!("b{round}"));
        store.create(&id).await;
        store.post(signal(&id, "next")).await;
        let turn = store.fetch(&id).await;
        let ack = Ack::of(&id, 1).signalled(2).scheduling(activity(&id, 3)).mail(start(&heir));
        let (acked, deleted) = meet(&store, round, (turn.token, ack), (&id, Force::Yes)).await;
        let deleted = deleted.unwrap_or_else(|error| panic!("force deletes what runs: {error}"));
        assert_eq!(deleted.instances_deleted, 1);
        assert_gone(&store, &id).await;
        store.assert_no_work("work of the deleted instance is left").await;
        match acked {
            Ok(()) => store.ack(&store.fetch(&heir).await.token, Ack::first(&heir)).await,
            Err(error) => store.assert_no_turn(&format!("the commit was refused ({error})")).await,
        }
    }
    let left = existing(&store).await;
    assert!(left.iter().all(|id| id.starts_with('b')), "only what the turns started is left: {left:?}");
}

/// Commits a turn and deletes an instance at the same time. Who has a head start changes from round to round.
pub(crate) async fn meet(
    store: &Subject<'_>,
    round: usize,
    (token, turn): (String, Ack),
    (doomed, force): (&str, Force),
) -> (Result<(), ProviderError>, Result<DeleteInstanceResult, ProviderError>) {
    let (one, other, doomed) = (store.shared(), store.shared(), doomed.to_owned());
    let commit = async move {
        wait_for(round % 4).await;
        commit_beside_others(one.as_ref(), &token, &turn).await
    };
    let deletion = async move {
        wait_for(3 - round % 4).await;
        delete_beside_others(other.as_ref(), &doomed, force).await
    };
    // A runtime may begin with what came first, or with what came last.
    let (commit, deletion) = if round % 8 < 4 {
        let commit = beside(commit);
        (commit, beside(deletion))
    } else {
        let deletion = beside(deletion);
        (beside(commit), deletion)
    };
    let committed = commit.await.expect("a commit answers, and does not panic");
    (committed, deletion.await.expect("a deletion answers, and does not panic"))
}

/// Lets others go first, so many times.
async fn wait_for(others: usize) {
    for _ in 0..others {
        tokio::task::yield_now().await;
    }
}

/// Commits beside others. A store in use may ask to try again.
async fn commit_beside_others(provider: &dyn Provider, token: &str, turn: &Ack) -> Result<(), ProviderError> {
    for _ in 0..PATIENCE {
        match commit(provider, token, turn.clone()).await {
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            answer => return answer,
        }
    }
    panic!("the store asked {PATIENCE} times to try again");
}

/// Deletes beside others. A store in use may ask to try again.
pub(crate) async fn delete_beside_others(
    provider: &dyn Provider,
    id: &str,
    force: Force,
) -> Result<DeleteInstanceResult, ProviderError> {
    let admin = provider.as_management_capability().expect("the provider has an administrative side");
    for _ in 0..PATIENCE {
        match admin.delete_instance(id, force == Force::Yes).await {
            Err(error) if error.is_retryable() => tokio::task::yield_now().await,
            answer => return answer,
        }
    }
    panic!("the store asked {PATIENCE} times to try again");
}
