//! How much waits in the queues.

use crate::ProviderFactory;
use crate::instance_locking::{give_back, give_back_work, lease_all, lease_all_work};
use crate::support::{Ack, Subject, activity, completed, signal, start, timer};

/// Messages and activities that wait count; what is leased is being worked on, and does not.
pub async fn test_get_queue_depths<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert_eq!(depths(&store).await, (0, 0), "an empty store has empty queues");
    store.post(start("a")).await;
    store.post(signal("a", "first")).await;
    store.post(start("b")).await;
    assert_eq!(depths(&store).await, (3, 0), "mail for what is no instance yet counts");
    let turn = store.fetch("a").await;
    assert_eq!(depths(&store).await, (1, 0), "leased messages do not wait");
    store.post(signal("a", "second")).await;
    assert_eq!(depths(&store).await, (2, 0), "what came after the lease waits");
    store.ack(&turn.token, Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3))).await;
    assert_eq!(depths(&store).await, (2, 2), "the batch is gone, the activities wait");

    let job = store.fetch_work().await;
    assert_eq!(depths(&store).await, (2, 1), "a leased activity does not wait");
    let acked = store.ack_work_item(&job.token, Some(completed("a", job.id()))).await;
    acked.expect("the work is held");
    assert_eq!(depths(&store).await, (3, 1), "its completion waits");
}

/// The depths are the same as what can be leased.
pub async fn test_queue_depths_without_leases<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["a", "b", "c"] {
        store.post(start(id)).await;
        store.post_work(activity(id, 2)).await;
    }
    assert_eq!(depths(&store).await, (3, 3));
    assert_eq!((lease_all(&store).await.len(), lease_all_work(&store).await.len()), (3, 3));
    assert_eq!(depths(&store).await, (0, 0), "everything is leased");
}

/// A timer counts once it is due, and not before. No queue of timers is told apart.
pub async fn test_queue_depths_with_timers<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let lock = u64::try_from(store.lock().as_millis()).expect("a lease is short");
    store.begin(Ack::first("a").mail(timer("a", 2, store.now_ms() + lock))).await;
    store.post(timer("a", 3, store.now_ms() + 100 * lock)).await;
    store.post(timer("a", 4, 1)).await;
    assert_eq!(depths(&store).await, (1, 0), "only the timer that is due counts");
    store.expire_leases().await;
    assert_eq!(depths(&store).await, (2, 0), "a timer counts once it is due");
    let turn = store.fetch("a").await;
    assert_eq!((turn.item.messages.len(), depths(&store).await), (2, (0, 0)));
}

/// What was given back waits again, at once or after a delay, and so does what was leased when the lease ran out.
pub async fn test_queue_depths_after_leases<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    store.post_work(activity("a", 2)).await;
    give_back(&store, &store.fetch("a").await).await;
    give_back_work(&store, &store.fetch_work().await).await;
    assert_eq!(depths(&store).await, (1, 1), "what was given back waits again");

    let (_turn, _job) = (store.fetch("a").await, store.fetch_work().await);
    assert_eq!(depths(&store).await, (0, 0), "what is leased again does not wait");
    store.expire_leases().await;
    assert_eq!(depths(&store).await, (1, 1), "what nobody holds any more waits again");
}

/// Messages and activities; the third number is always zero.
async fn depths(store: &Subject<'_>) -> (usize, usize) {
    let depths = store.admin().get_queue_depths().await.expect("queues can be measured");
    assert_eq!(depths.timer_queue, 0, "timers are messages");
    (depths.orchestrator_queue, depths.worker_queue)
}
