//! Instances with pins, and ways to find out which pin an instance has.

use abide_model::SemverRange;
use abide_provider::DispatcherCapabilityFilter;
use semver::Version;

use crate::support::{Ack, Subject, Turn, signal};

/// Beyond every version of the tests.
const LAST: Version = Version::new(1_000, 0, 0);

pub(super) fn between(min: Version, max: Version) -> DispatcherCapabilityFilter {
    DispatcherCapabilityFilter { supported_duroxide_versions: vec![SemverRange::new(min, max)] }
}

/// Exactly this version.
pub(super) fn only(version: &str) -> DispatcherCapabilityFilter {
    crate::support::supporting(version, version)
}

/// Instances that run, are pinned to these versions or to none, and have one message each.
pub(super) async fn with_mail(store: &Subject<'_>, instances: &[(&str, Option<&str>)]) {
    // First all of them, so that none has mail while another one begins.
    for (instance, version) in instances {
        let first = Ack::first(instance);
        store.begin(if let Some(version) = version { first.pinned(version) } else { first }).await;
    }
    for (instance, _) in instances {
        store.post(signal(instance, "wake up")).await;
    }
}

/// An instance that runs, is pinned to this version, and has one message.
pub(super) async fn pinned_with_mail(store: &Subject<'_>, instance: &str, version: &str) {
    with_mail(store, &[(instance, Some(version))]).await;
}

/// An instance that runs, has no pin, and has one message.
pub(super) async fn unpinned_with_mail(store: &Subject<'_>, instance: &str) {
    with_mail(store, &[(instance, None)]).await;
}

/// Leases this instance with a filter: it must be the one that comes.
pub(super) async fn fetch_with(
    store: &Subject<'_>,
    filter: &DispatcherCapabilityFilter,
    instance: &str,
) -> Turn {
    let turn = store.try_fetch_filtered(Some(filter)).await;
    let turn = turn.unwrap_or_else(|| panic!("'{instance}' passes {filter:?}, but nothing was fetched"));
    assert_eq!(turn.item.instance, instance, "another instance was fetched with {filter:?}");
    turn
}

pub(super) async fn assert_nothing_passes(
    store: &Subject<'_>,
    filter: &DispatcherCapabilityFilter,
    why: &str,
) {
    let turn = store.try_fetch_filtered(Some(filter)).await;
    assert!(turn.is_none(), "{why}, but with {filter:?} this was fetched: {turn:?}");
}

/// Leases everything that passes: it must be these, each for the first time.
pub(super) async fn assert_takes(
    store: &Subject<'_>,
    filter: Option<&DispatcherCapabilityFilter>,
    instances: &[&str],
) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    while let Some(turn) = store.try_fetch_filtered(filter).await {
        let instance = &turn.item.instance;
        assert!(turns.iter().all(|other| other.item.instance != *instance), "'{instance}' was leased twice");
        assert_eq!(turn.attempt, 1, "'{instance}' was not leased before, and being skipped is no attempt");
        turns.push(turn);
    }
    let mut taken: Vec<&str> = turns.iter().map(|turn| turn.item.instance.as_str()).collect();
    let mut expected = instances.to_vec();
    taken.sort_unstable();
    expected.sort_unstable();
    assert_eq!(taken, expected, "with {filter:?} exactly these are leased");
    turns
}

/// Gives a lease back as if it had not been taken.
pub(super) async fn put_back(store: &Subject<'_>, turn: &Turn) {
    let abandoned = store.abandon_orchestration_item(&turn.token, None, true).await;
    abandoned.expect("a held lease can be given back");
}

/// Acks this as the next turn of an instance that has mail.
pub(super) async fn turn_of(store: &Subject<'_>, ack: Ack) {
    let turn = store.fetch(&ack.instance).await;
    store.ack(&turn.token, ack).await;
}

/// The only instance with mail is pinned to exactly this version: neither its predecessor nor its successor will do.
///
/// Its message stays, and its lease is not counted.
pub(super) async fn assert_pinned(store: &Subject<'_>, instance: &str, version: &str) {
    let pin = Version::parse(version).expect("the test gives a version");
    assert!(pin.patch > 0, "a version with a predecessor shows more");
    let (before, after) = (
        Version::new(pin.major, pin.minor, pin.patch - 1),
        Version::new(pin.major, pin.minor, pin.patch + 1),
    );
    let why = format!("'{instance}' is pinned to {pin}");
    assert_nothing_passes(store, &between(Version::new(0, 0, 0), before), &why).await;
    assert_nothing_passes(store, &between(after, LAST), &why).await;
    let turn = fetch_with(store, &between(pin.clone(), pin), instance).await;
    put_back(store, &turn).await;
}

/// The only instance with mail has no pin: any range will do.
pub(super) async fn assert_not_pinned(store: &Subject<'_>, instance: &str) {
    for version in ["0.0.1", "7.7.7", "999.0.0"] {
        let turn = fetch_with(store, &only(version), instance).await;
        put_back(store, &turn).await;
    }
}
