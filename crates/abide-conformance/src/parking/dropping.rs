//! Calls that are dropped while they wait.

use std::time::Duration;

use abide_provider::FinishedWork;
use futures_util::future::{Either, select};

use super::waiting::{LONG, MOMENT, Waited, instances, promptly, work};
use crate::ProviderFactory;
use crate::batches::calls::{activities, names};
use crate::factory::real_time;
use crate::support::{activity, beside, start};

/// Who stops waiting takes nothing along: what comes then goes to the next one who asks, at the latest when the
/// lease that the dropped call asked for would have ended.
pub async fn test_dropping_a_parked_call_loses_nothing<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    for _ in 0..3 {
        give_up_after_a_moment(store.provider.lease_instances(instances(MOMENT, LONG))).await;
        give_up_after_a_moment(store.provider.lease_work(work(MOMENT, LONG))).await;
    }
    store.post(start("a")).await;
    store.post_work(activity("a", 2)).await;
    let leases = promptly(store.lease_instances(LONG), "mail that came after a call was dropped").await;
    assert_eq!(names(&leases), ["a"]);
    let leases = promptly(store.lease_work(LONG), "work that came after a call was dropped").await;
    assert_eq!(activities(&leases), [2]);
}

/// A call that is dropped in the very moment in which it is served loses nothing either.
pub async fn test_dropping_a_call_while_it_is_served_loses_nothing<F: ProviderFactory>(factory: &F) {
    let store = Waited::new(factory).await;
    for id in 2..12 {
        let provider = store.provider.clone();
        let parked = beside(async move { provider.lease_work(work(MOMENT, LONG)).await });
        // Some calls are dropped before they wait, some while they do, some while they are served.
        real_time(Duration::from_millis(id % 4)).await;
        store.post_work(activity("a", id)).await;
        if id % 2 == 0 {
            tokio::task::yield_now().await;
        }
        parked.abort();
        let ended = parked.await;
        assert!(ended.is_ok() || ended.is_err_and(|error| error.is_cancelled()), "a call does not panic");

        let leases = promptly(store.lease_work(LONG), "work whose first caller went away").await;
        assert_eq!(activities(&leases), [id], "nothing is lost, and nothing comes twice");
        let finished = FinishedWork { token: leases[0].token.clone(), completion: None };
        assert_eq!(store.provider.finish_work(vec![finished]).await, [Ok(())]);
    }
    let rest = store.lease_work(MOMENT * 2).await;
    assert!(rest.is_empty(), "everything is done: {rest:?}");
}

/// Polls a call that has nothing to answer for a moment, and drops it.
async fn give_up_after_a_moment<T>(call: impl Future<Output = T>) {
    match select(Box::pin(call), Box::pin(real_time(MOMENT / 4))).await {
        Either::Left(_) => panic!("a call answered although there is nothing"),
        Either::Right(_) => {}
    }
}
