//! The same promises when many dispatchers are at it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use abide_provider::Provider;

use super::{assert_powerless, commit, contend, fetch_beside_others};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, beside, signal};

const DISPATCHERS: usize = 16;

/// Of many dispatchers that fetch at the same time, one gets the instance, again and again.
pub async fn test_multi_threaded_lock_contention<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for round in 2..10 {
        let data = format!("round {round}");
        store.post(signal("a", &data)).await;
        let turns = contend(&store, DISPATCHERS).await;
        let [turn] = turns.as_slice() else {
            panic!("one of {DISPATCHERS} dispatchers must get the instance, not {}: {turns:?}", turns.len());
        };
        assert_eq!(turn.signals(), [data.as_str()], "the batch is what was sent since the last commit");
        assert_eq!(turn.attempt, 1, "those who got nothing count for nothing");
        store.ack(&turn.token, Ack::of("a", 1).signalled(round)).await;
    }
    assert_eq!(store.event_ids("a", 1).await, (1..10).collect::<Vec<_>>(), "each round committed one event");
}

/// Every message is processed by one dispatcher, once, however many there are.
pub async fn test_multi_threaded_no_duplicate_processing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names: Vec<String> = (0..10).map(|number| format!("instance-{number}")).collect();
    for name in &names {
        store.create(name).await;
    }
    let mut expected = BTreeMap::new();
    for name in &names {
        for number in 0..3 {
            let data = format!("{name}, message {number}");
            store.post(signal(name, &data)).await;
            expected.insert(data, 1);
        }
    }
    let backlog = Arc::new(Backlog { total: expected.len(), done: AtomicUsize::new(0) });
    let dispatchers: Vec<_> = (0..DISPATCHERS)
        .map(|_| beside(process(store.shared(), store.lock(), Arc::clone(&backlog))))
        .collect();
    let mut processed: BTreeMap<String, usize> = BTreeMap::new();
    for dispatcher in dispatchers {
        for data in dispatcher.await.expect("a dispatcher is answered, and does not panic") {
            *processed.entry(data).or_default() += 1;
        }
    }
    assert_eq!(processed, expected, "each message is committed once");
    store.assert_no_turn("everything was processed").await;
    store.expire_leases().await;
    store.assert_no_turn("what was committed does not come back").await;
}

/// A dispatcher that dies keeps its instance from the others until its lease runs out; then one of them gets it, with all
/// of its mail.
pub async fn test_multi_threaded_lock_expiration_recovery<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "first")).await;
    store.post(signal("a", "second")).await;
    let dead = store.fetch("a").await;
    let early = contend(&store, DISPATCHERS).await;
    assert!(early.is_empty(), "the lease of the dead one has not run out: {early:?}");

    store.expire_leases().await;
    let turns = contend(&store, DISPATCHERS).await;
    let [turn] = turns.as_slice() else {
        panic!("one of {DISPATCHERS} dispatchers must get the instance, not {}: {turns:?}", turns.len());
    };
    assert_eq!(turn.signals(), ["first", "second"], "the mail of the dead one comes back as a whole");
    assert_eq!(turn.attempt, 2, "the dead one's lease was an attempt, the others' fetches were none");
    assert_powerless(&store, &dead.token, "a", "the lease ran out").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "the one who has the lease commits, and nobody else");
}

/// What the dispatchers share, to know when they are done.
struct Backlog {
    total: usize,
    done: AtomicUsize,
}

/// Leases and commits until everything is done; what the messages said that it committed.
async fn process(provider: Arc<dyn Provider>, lock: Duration, backlog: Arc<Backlog>) -> Vec<String> {
    let mut processed = Vec::new();
    // A bound, so that lost mail fails the test and does not hang it.
    for _ in 0..2_000 {
        if backlog.done.load(Ordering::SeqCst) >= backlog.total {
            break;
        }
        let Some(turn) = fetch_beside_others(&provider, lock).await else {
            tokio::task::yield_now().await;
            continue;
        };
        let last = turn.item.history.last().map_or(0, abide_model::Event::event_id);
        let ack = Ack::of(&turn.item.instance, 1).signalled(last + 1);
        let acked = commit(provider.as_ref(), &turn.token, ack).await;
        acked.unwrap_or_else(|error| panic!("the holder of a lease could not commit: {error}"));
        let signals = turn.signals();
        backlog.done.fetch_add(signals.len(), Ordering::SeqCst);
        processed.extend(signals.into_iter().map(str::to_owned));
    }
    processed
}
