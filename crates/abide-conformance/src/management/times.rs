//! Times are real: they come from the store's clock, and move with it.

use crate::ProviderFactory;
use crate::deletion::{moment, run_next};
use crate::support::{Ack, Subject, signal, start};

/// An instance is created when its first turn is committed, and updated with every commit; mail and leases are no change.
pub async fn test_times_of_an_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    moment(&store).await;
    let before = store.now_ms();
    moment(&store).await;
    run_next(&store, Ack::first("a")).await;
    let created = times(&store).await;
    moment(&store).await;
    let after = store.now_ms();
    assert!(before < created.0 && created.0 < after, "{created:?} is not between {before} and {after}");
    assert!(created.0 <= created.1 && created.1 < after, "it changed last when it was created: {created:?}");

    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    assert_eq!(times(&store).await, created, "neither mail nor a lease is a change");
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    let updated = times(&store).await;
    assert_eq!(updated.0, created.0, "an instance is created once");
    assert!(updated.1 >= after, "a commit at {after} or later is a change, but the last is of {}", updated.1);
    moment(&store).await;
    store.step(Ack::of("a", 1).completing(3)).await;
    let ended = times(&store).await;
    assert!(ended.1 > updated.1, "the end is a change");
    assert_eq!(ended.0, created.0, "an instance is created once");
}

/// An execution starts when its first turn is committed, and has ended when a commit says so: once, and not before.
pub async fn test_times_of_executions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    moment(&store).await;
    let begin = store.now_ms();
    moment(&store).await;
    store.create("a").await;
    moment(&store).await;
    let middle = store.now_ms();
    let (started, completed) = execution(&store, 1).await;
    assert!(begin < started && started < middle, "{started} is not between {begin} and {middle}");
    assert_eq!(completed, None, "what runs has not ended");

    moment(&store).await;
    store.step(Ack::of("a", 1).continuing(2)).await;
    let first = execution(&store, 1).await;
    assert_eq!(first.0, started, "an execution starts once");
    assert!(first.1 > Some(middle), "the end is later than {middle}: {first:?}");
    moment(&store).await;
    let end = store.now_ms();
    assert!(first.1 < Some(end), "the end is earlier than {end}: {first:?}");
    moment(&store).await;
    run_next(&store, Ack::first_of("a", 2)).await;
    let second = execution(&store, 2).await;
    assert!(second.0 > end, "the next execution starts with its own first turn: {second:?}");
    assert_eq!(second.1, None);
    moment(&store).await;
    store.step(Ack::of("a", 2).completing(2)).await;
    assert!(execution(&store, 2).await.1 > Some(second.0));
    assert_eq!(execution(&store, 1).await, first, "the times of a past execution stay");
}

/// When it was created, and when it last changed.
async fn times(store: &Subject<'_>) -> (u64, u64) {
    let info = store.admin().get_instance_info("a").await.expect("it exists");
    (info.created_at, info.updated_at)
}

/// When it started, and when it ended.
async fn execution(store: &Subject<'_>, execution_id: u64) -> (u64, Option<u64>) {
    let info = store.admin().get_execution_info("a", execution_id).await.expect("it exists");
    (info.started_at, info.completed_at)
}
