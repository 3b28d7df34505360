//! How an execution gets its pin, and how it keeps it.

use super::probes::{assert_not_pinned, assert_pinned, pinned_with_mail, turn_of, unpinned_with_mail};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, assert_refused, signal};

/// The commit that creates an instance stores the pin that its metadata gives, all three numbers of it.
pub async fn test_pinned_version_stored_via_ack_metadata<F: ProviderFactory>(factory: &F) {
    for version in ["3.1.4", "0.0.1", "0.12.3", "10.0.20"] {
        let store = Subject::new(factory).await;
        pinned_with_mail(&store, "a", version).await;
        assert_pinned(&store, "a", version).await;
    }
}

/// Turns that say nothing about the pin leave it, however many there are and whatever else they say.
pub async fn test_pinned_version_immutable_across_ack_cycles<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "3.1.4").await;
    for id in 2..=5 {
        turn_of(&store, Ack::of("a", 1).signalled(id)).await;
        store.post(signal("a", "again")).await;
        assert_pinned(&store, "a", "3.1.4").await;
    }
    turn_of(&store, Ack::of("a", 1).named("Renamed", "9.9.9")).await;
    store.post(signal("a", "again")).await;
    assert_pinned(&store, "a", "3.1.4").await;
    turn_of(&store, Ack::of("a", 1).failing(6)).await;
    store.post(signal("a", "too late")).await;
    assert_pinned(&store, "a", "3.1.4").await;
}

/// The next execution is pinned by its own first turn; that of the last one does not count any more.
pub async fn test_continue_as_new_execution_gets_own_pinned_version<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").pinned("1.0.3").continuing(2)).await;
    turn_of(&store, Ack::first_of("a", 2).pinned("2.0.5")).await;
    store.post(signal("a", "wake up")).await;
    assert_pinned(&store, "a", "2.0.5").await;

    turn_of(&store, Ack::of("a", 2).continuing(2)).await;
    turn_of(&store, Ack::first_of("a", 3).pinned("1.9.9")).await;
    store.post(signal("a", "wake up")).await;
    assert_pinned(&store, "a", "1.9.9").await;
}

/// An execution that was told no pin has none, whatever its predecessor had.
pub async fn test_successor_without_pin_does_not_inherit_one<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").pinned("3.1.4").continuing(2)).await;
    turn_of(&store, Ack::first_of("a", 2)).await;
    store.post(signal("a", "wake up")).await;
    assert_not_pinned(&store, "a").await;
}

/// A later turn may pin an execution that has no pin yet.
pub async fn test_ack_stores_pinned_version_via_metadata_update<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    unpinned_with_mail(&store, "a").await;
    assert_not_pinned(&store, "a").await;
    turn_of(&store, Ack::of("a", 1).pinned("3.1.4")).await;
    store.post(signal("a", "wake up")).await;
    assert_pinned(&store, "a", "3.1.4").await;
}

/// The store keeps what it is told last: it does not know better than who commits.
pub async fn test_provider_updates_pinned_version_when_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "3.1.4").await;
    for (id, version) in [(2, "4.0.1"), (3, "2.7.1")] {
        turn_of(&store, Ack::of("a", 1).signalled(id).pinned(version)).await;
        store.post(signal("a", "again")).await;
        assert_pinned(&store, "a", version).await;
    }
}

/// A commit that is refused changes no pin.
pub async fn test_refused_ack_does_not_change_the_pinned_version<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "3.1.4").await;
    let turn = store.fetch("a").await;
    let refused = store.try_ack(&turn.token, Ack::of("a", 1).signalled(1).pinned("4.0.1")).await;
    assert_refused(&refused, "a turn whose event is recorded already");
    let refused = store.try_ack("no token", Ack::of("a", 1).signalled(2).pinned("4.0.1")).await;
    assert_refused(&refused, "a turn without a lease");

    super::probes::put_back(&store, &turn).await;
    assert_pinned(&store, "a", "3.1.4").await;
}
