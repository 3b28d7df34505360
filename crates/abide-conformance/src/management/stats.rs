//! The size of one instance.

use abide_model::{EventKind, SystemStats};

use crate::ProviderFactory;
use crate::deletion::{eternal_root, run_next};
use crate::kv_store::Values;
use crate::support::{Ack, Subject, queue_message, signal, start, started_with};

/// What is no instance has no statistics, not even with mail.
pub async fn test_get_instance_stats_nonexistent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(start("unborn")).await;
    for id in ["unknown", "unborn"] {
        let stats = store.get_instance_stats(id).await.expect("statistics can be asked for");
        assert_eq!(stats, None, "'{id}' is no instance");
    }
}

/// Events and bytes are those of the current execution: they grow with it, and a new execution begins small.
pub async fn test_get_instance_stats_history<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    eternal_root(&store, "other", 3).await;
    let small = stats(&store, "a").await;
    assert_eq!(small.history_event_count, 1);
    assert!(small.history_size_bytes > 0, "an event takes place");
    assert_eq!((small.queue_pending_count, small.kv_user_key_count, small.kv_total_value_bytes), (0, 0, 0));

    store.step(Ack::of("a", 1).signalled(2).signalled(3)).await;
    let grown = stats(&store, "a").await;
    assert_eq!(grown.history_event_count, 3);
    assert!(grown.history_size_bytes > small.history_size_bytes, "more events take more place");
    let long = EventKind::ExternalEvent { name: "go".to_owned(), data: "x".repeat(10_000) };
    store.step(Ack::of("a", 1).event(4, long).continuing(5)).await;
    let large = stats(&store, "a").await;
    assert_eq!(large.history_event_count, 5);
    assert!(large.history_size_bytes > grown.history_size_bytes, "more events take more place");

    run_next(&store, Ack::first_of("a", 2)).await;
    let next = stats(&store, "a").await;
    assert_eq!(next.history_event_count, 1, "past executions do not count");
    assert!(
        next.history_size_bytes < grown.history_size_bytes,
        "past executions take no place of the current"
    );
}

/// Keys and the bytes of their values, after a change, after a removal, and after an end.
pub async fn test_get_instance_stats_kv<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "12345").set(3, "y", "é")).await;
    store.begin(Ack::first("other").set(2, "z", "of somebody else")).await;
    assert_eq!(kv_stats(&store, "a").await, (2, 7), "bytes, not characters");
    store.step(Ack::of("a", 1).set(4, "x", "1")).await;
    assert_eq!(kv_stats(&store, "a").await, (2, 3), "a value that was overwritten does not count");
    store.step(Ack::of("a", 1).clear(5, "y").set(6, "empty", "")).await;
    assert_eq!(kv_stats(&store, "a").await, (2, 1), "an empty value is a value; a removed one is none");
    store.step(Ack::of("a", 1).completing(7)).await;
    assert_eq!(kv_stats(&store, "a").await, (2, 1), "the end of the execution changes nothing");
}

/// Pending messages are those that the start event of the current execution brought along, not those in the queue.
pub async fn test_get_instance_stats_carry_forward<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").continuing(2)).await;
    assert_eq!(stats(&store, "a").await.queue_pending_count, 0);
    let carried = ["one", "two", "three"].map(|data| ("inbox".to_owned(), data.to_owned()));
    let next = Ack::of("a", 2).event(1, started_with(carried.to_vec()));
    run_next(&store, next).await;
    assert_eq!(stats(&store, "a").await.queue_pending_count, 3);
    store.post(queue_message("a", "four")).await;
    store.post(signal("a", "five")).await;
    assert_eq!(stats(&store, "a").await.queue_pending_count, 3, "what is in the queue is counted elsewhere");
    run_next(&store, Ack::of("a", 2).continuing(2)).await;
    run_next(&store, Ack::first_of("a", 3)).await;
    assert_eq!(stats(&store, "a").await.queue_pending_count, 0, "a past execution does not count");
}

/// Values that the current execution set count before it ends.
pub async fn test_get_instance_stats_kv_delta_only<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").set(2, "x", "1").set(3, "y", "22")).await;
    assert_eq!(kv_stats(&store, "a").await, (2, 3));
    store.step(Ack::of("a", 1).clear_all(4)).await;
    assert_eq!(kv_stats(&store, "a").await, (0, 0), "a removed value does not count");
}

/// Values of past executions and changes of the current one count together: overwritten once, removed not at all.
pub async fn test_get_instance_stats_kv_merged<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let past = Ack::first("a").set(2, "kept", "1").set(3, "overwritten", "22").set(4, "removed", "333");
    store.begin(past.continuing(5)).await;
    run_next(&store, Ack::first_of("a", 2)).await;
    assert_eq!(kv_stats(&store, "a").await, (3, 6));
    let present = Ack::of("a", 2).set(2, "overwritten", "4444").clear(3, "removed").set(4, "new", "55555");
    store.step(present).await;
    assert_eq!(kv_stats(&store, "a").await, (3, 10));
    store.step(Ack::of("a", 2).clear_all(5).set(6, "last", "1")).await;
    assert_eq!(kv_stats(&store, "a").await, (1, 1));
}

/// A history that cannot be read has no statistics, and says so: it does not look empty.
pub async fn test_get_instance_stats_of_unreadable_history<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("good").await;
    let carried = vec![("inbox".to_owned(), "one".to_owned())];
    store.begin(Ack::of("bad", 1).named("Order", "1.0.0").event(1, started_with(carried))).await;
    factory.corrupt_instance_history("bad").await;
    let answer = store.get_instance_stats("bad").await;
    assert!(answer.is_err(), "a history that cannot be read was measured: {answer:?}");
    assert_eq!(stats(&store, "good").await.history_event_count, 1, "somebody else's history is not harmed");
}

async fn stats(store: &Subject<'_>, id: &str) -> SystemStats {
    let stats = store.get_instance_stats(id).await.expect("statistics can be asked for");
    stats.unwrap_or_else(|| panic!("'{id}' exists, but has no statistics"))
}

/// Keys and bytes.
async fn kv_stats(store: &Subject<'_>, id: &str) -> (u64, u64) {
    let stats = stats(store, id).await;
    (stats.kv_user_key_count, stats.kv_total_value_bytes)
}
