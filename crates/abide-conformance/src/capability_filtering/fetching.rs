//! Which instances a fetch with a filter takes.

use std::collections::BTreeSet;
use std::time::Duration;

use abide_model::SemverRange;
use abide_provider::{DispatcherCapabilityFilter, LeaseInstances};
use semver::Version;

use super::probes::{
    assert_nothing_passes, assert_pinned, assert_takes, fetch_with, only, pinned_with_mail, put_back,
    turn_of, unpinned_with_mail, with_mail,
};
use crate::ProviderFactory;
use crate::support::{Ack, Subject, Turn, beside, signal, start, supporting};

/// Without a filter everything is taken, whatever it is pinned to.
pub async fn test_fetch_with_filter_none_returns_any_item<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(&store, &[("future", Some("99.0.0")), ("past", Some("0.0.1")), ("unpinned", None)]).await;
    store.post(start("new")).await;

    assert_takes(&store, None, &["future", "past", "unpinned", "new"]).await;
}

/// An instance whose pin is supported is taken as without a filter: with its history, its messages and its lease.
pub async fn test_fetch_with_compatible_filter_returns_item<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let filter = supporting("1.0.0", "2.0.0");
    pinned_with_mail(&store, "a", "1.4.2").await;

    let turn = fetch_with(&store, &filter, "a").await;
    assert_eq!(turn.attempt, 1, "nobody had its message before");
    assert_eq!(turn.item.messages, [signal("a", "wake up")], "its message comes with it");
    assert_eq!(turn.item.history, store.history("a").await, "its history comes with it");
    assert!(!turn.item.history.is_empty(), "its history comes with it");
    assert_eq!(turn.item.history_error, None, "its history can be read");
    store.assert_no_turn("it is leased, with a filter as without").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
}

/// An instance whose pin is not supported is not taken, however often somebody asks.
pub async fn test_fetch_with_incompatible_filter_skips_item<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "3.0.0").await;
    for _ in 0..3 {
        assert_nothing_passes(&store, &supporting("1.0.0", "2.9.9"), "its pin is above the range").await;
        assert_nothing_passes(&store, &supporting("3.0.1", "9.0.0"), "its pin is below the range").await;
    }
    let turn = fetch_with(&store, &supporting("1.0.0", "3.0.0"), "a").await;
    assert_eq!(turn.attempt, 1, "being skipped is no attempt");
    assert_eq!(turn.item.messages, [signal("a", "wake up")], "being skipped costs no message");
}

/// What cannot be taken does not stand in the way of what can: the next compatible instance is found.
pub async fn test_fetch_filter_skips_incompatible_selects_compatible<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(
        &store,
        &[
            ("newer", Some("2.0.0")),
            ("same", Some("1.0.0")),
            ("newest", Some("3.0.0")),
            ("older", Some("0.9.0")),
        ],
    )
    .await;

    let filter = supporting("0.0.0", "1.9.9");
    assert_takes(&store, Some(&filter), &["same", "older"]).await;
    assert_takes(&store, Some(&supporting("2.0.0", "9.0.0")), &["newer", "newest"]).await;
}

/// An instance that was skipped is free for those who can replay it, at once.
pub async fn test_fetch_filter_does_not_lock_skipped_instances<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    pinned_with_mail(&store, "a", "5.0.0").await;
    assert_nothing_passes(&store, &only("1.0.0"), "its pin is not supported").await;

    let turn = fetch_with(&store, &only("5.0.0"), "a").await;
    assert_eq!(turn.attempt, 1, "being skipped is no attempt");
    put_back(&store, &turn).await;
    assert_nothing_passes(&store, &only("1.0.0"), "its pin is not supported").await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.attempt, 1, "being skipped is no attempt");
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    store.assert_no_turn("its message was consumed").await;
}

/// What has no pin is taken with any range: instances that were never told one, and those that are not started yet.
pub async fn test_fetch_filter_null_pinned_version_always_compatible<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    unpinned_with_mail(&store, "unpinned").await;
    store.post(start("new")).await;
    for range in [supporting("0.0.0", "0.0.0"), only("7.7.7"), supporting("99.0.0", "999.0.0")] {
        for turn in assert_takes(&store, Some(&range), &["unpinned", "new"]).await {
            put_back(&store, &turn).await;
        }
    }
}

/// Both ends of a range belong to it, and versions are compared as numbers: major, then minor, then patch.
pub async fn test_fetch_filter_boundary_versions<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let filter = supporting("1.5.2", "2.3.4");
    let inside = ["1.5.2", "1.5.3", "1.5.10", "1.6.0", "1.10.0", "1.9.9", "2.0.0", "2.0.5", "2.3.0", "2.3.4"];
    let outside = [
        "0.0.0", "0.9.9", "1.4.9", "1.5.1", "1.5.0", "2.3.5", "2.3.10", "2.4.0", "2.10.0", "3.0.0", "10.0.0",
    ];
    let all: Vec<_> = inside.iter().chain(&outside).map(|version| (*version, Some(*version))).collect();
    with_mail(&store, &all).await;
    assert_takes(&store, Some(&filter), &inside).await;
    assert_takes(&store, None, &outside).await;
}

/// A filter without a range takes nothing, pinned or not, started or not.
pub async fn test_filter_with_empty_supported_versions_returns_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(&store, &[("pinned", Some("1.0.0")), ("unpinned", None)]).await;
    store.post(start("new")).await;

    let nothing = DispatcherCapabilityFilter { supported_duroxide_versions: Vec::new() };
    assert_nothing_passes(&store, &nothing, "no version is supported").await;
    assert_takes(&store, None, &["pinned", "unpinned", "new"]).await;
}

/// With one range, that range alone decides; further ranges take nothing away from the first, and add nothing outside
/// themselves.
pub async fn test_fetch_single_range_only_uses_first_range<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(&store, &[("outside", Some("5.0.0")), ("inside", Some("1.5.0"))]).await;

    let first = supporting("1.0.0", "2.0.0").supported_duroxide_versions;
    let single = DispatcherCapabilityFilter { supported_duroxide_versions: first.clone() };
    let turn = fetch_with(&store, &single, "inside").await;
    assert_nothing_passes(&store, &single, "it is outside the only range").await;
    put_back(&store, &turn).await;

    let further = supporting("7.0.0", "8.0.0").supported_duroxide_versions;
    let both = DispatcherCapabilityFilter { supported_duroxide_versions: [first, further].concat() };
    fetch_with(&store, &both, "inside").await;
    assert_nothing_passes(&store, &both, "it is between the ranges, not in one of them").await;
}

/// With several ranges, a pin in any of them is supported.
pub async fn test_fetch_filter_takes_what_any_range_supports<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(&store, &["1.5.0", "3.0.0", "5.5.0", "8.0.0", "9.9.9"].map(|version| (version, Some(version))))
        .await;
    let range = |min, max| SemverRange::new(Version::new(min, 0, 0), Version::new(max, 0, 0));
    let ranges = vec![range(9, 10), range(5, 6), range(1, 2)];
    let filter = DispatcherCapabilityFilter { supported_duroxide_versions: ranges };
    assert_takes(&store, Some(&filter), &["1.5.0", "5.5.0", "9.9.9"]).await;
}

/// A range whose ends are the wrong way round contains no version.
pub async fn test_fetch_filter_with_inverted_range_supports_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(&store, &["1.0.0", "1.5.0", "2.0.0"].map(|version| (version, Some(version)))).await;
    assert_nothing_passes(&store, &supporting("2.0.0", "1.0.0"), "the range is empty").await;
}

/// However many instances wait that cannot be taken, one behind them that can is found.
pub async fn test_fetch_filter_finds_compatible_behind_many_incompatible<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let newer: Vec<String> = (0..150).map(|number| format!("newer {number}")).collect();
    let mut all: Vec<_> = newer.iter().map(|instance| (instance.as_str(), Some("2.0.0"))).collect();
    all.push(("same", Some("1.0.0")));
    with_mail(&store, &all).await;
    fetch_with(&store, &only("1.0.0"), "same").await;
    assert_nothing_passes(&store, &only("1.0.0"), "what is left is newer").await;
}

/// The message that starts the next execution comes with the history of the last one, so its pin decides.
pub async fn test_fetch_filter_applies_to_the_successor_of_an_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").pinned("3.1.4").continuing(2)).await;
    assert_pinned(&store, "a", "3.1.4").await;
}

/// Mail for an instance that has ended is filtered like any other.
pub async fn test_fetch_filter_applies_after_the_end_of_an_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").pinned("3.1.4").completing(2)).await;
    store.post(signal("a", "too late")).await;
    assert_pinned(&store, "a", "3.1.4").await;
    turn_of(&store, Ack::of("a", 1)).await;
    store.assert_no_turn("its message was consumed").await;
}

/// Takes instances that pass until there are none.
async fn take_all(
    store: std::sync::Arc<dyn abide_provider::Provider>,
    filter: DispatcherCapabilityFilter,
    lock: Duration,
) -> Vec<Turn> {
    let mut turns = Vec::new();
    // Bounded, because where what is fetched is not leased, there is no end of it.
    for _ in 0..50 {
        let fetched = store.fetch_orchestration_item(lock, Duration::ZERO, Some(&filter)).await;
        match fetched.unwrap_or_else(|error| panic!("fetching an instance failed: {error}")) {
            Some((item, token, attempt)) => turns.push(Turn { item, token, attempt }),
            None => break,
        }
    }
    turns
}

/// Many that ask at the same time with filters take each instance once, and only what they can replay.
pub async fn test_concurrent_filtered_fetch_no_double_lock<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = (0..20).flat_map(|number| [format!("newer {number}"), format!("older {number}")]);
    let names: Vec<String> = names.collect();
    let pin = |name: &str| if name.starts_with("newer") { "2.0.0" } else { "1.0.0" };
    let all: Vec<_> = names.iter().map(|name| (name.as_str(), Some(pin(name)))).collect();
    with_mail(&store, &all).await;
    let nodes = ["2.0.0", "1.0.0", "2.0.0", "1.0.0", "2.0.0"];
    let lock = store.lock() * 4;
    let taking = nodes.map(|version| (version, beside(take_all(store.shared(), only(version), lock))));

    let mut taken = BTreeSet::new();
    for (version, turns) in taking {
        let kind = if version == "2.0.0" { "newer" } else { "older" };
        for turn in turns.await.expect("a fetch does not panic") {
            let instance = turn.item.instance;
            assert!(instance.starts_with(kind), "'{instance}' went to a node that supports only {version}");
            assert_eq!(turn.attempt, 1, "'{instance}' was leased before");
            assert!(taken.insert(instance.clone()), "'{instance}' was leased twice");
        }
    }
    // Whoever lost a race may have gone away empty-handed.
    for version in ["1.0.0", "2.0.0"] {
        for turn in take_all(store.shared(), only(version), lock).await {
            assert!(taken.insert(turn.item.instance.clone()), "'{}' was leased twice", turn.item.instance);
        }
    }
    assert_eq!(taken.len(), 40, "every instance is leased by somebody");
}

/// Leasing several instances at once filters like fetching one.
pub async fn test_lease_instances_takes_only_what_passes_the_filter<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    with_mail(
        &store,
        &[("newer", Some("2.0.0")), ("same", Some("1.0.0")), ("unpinned", None), ("newest", Some("3.0.0"))],
    )
    .await;
    store.post(start("new")).await;

    let nothing = DispatcherCapabilityFilter { supported_duroxide_versions: Vec::new() };
    let wanted = [
        (Some(nothing), BTreeSet::new()),
        (Some(only("1.0.0")), BTreeSet::from(["same", "unpinned", "new"])),
        (Some(only("3.0.0")), BTreeSet::from(["newest"])),
        (None, BTreeSet::from(["newer"])),
    ];
    for (capabilities, instances) in wanted {
        let request =
            LeaseInstances { limit: 4, lease_for: store.lock(), wait: Duration::ZERO, capabilities, serving: None };
        let mut taken = Vec::new();
        // Bounded, because where what is leased is not kept from the next call, there is no end of it.
        for _ in 0..10 {
            let leases = store.lease_instances(request.clone()).await.expect("finding nothing is no error");
            taken.extend(leases.into_iter().map(|lease| lease.instance));
        }
        let distinct: BTreeSet<&str> = taken.iter().map(String::as_str).collect();
        assert_eq!(distinct.len(), taken.len(), "an instance was leased twice: {taken:?}");
        assert_eq!(distinct, instances, "with {:?} exactly these are leased", request.capabilities);
    }
}
