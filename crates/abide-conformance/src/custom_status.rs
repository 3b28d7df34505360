//! What code says about its progress, with a version.

use abide_model::EventKind;
use abide_model::limits::MAX_CUSTOM_STATUS_BYTES;

use crate::ProviderFactory;
use crate::suite::area;
use crate::support::{Ack, Subject, assert_refused, event, queue_message, signal, start};

area! {
    custom_status;
    test_custom_status_set;
    test_custom_status_clear;
    test_custom_status_none_preserves;
    test_custom_status_version_increments;
    test_custom_status_polling_no_change;
    test_custom_status_nonexistent_instance;
    test_custom_status_default_on_new_instance;

    // Beyond the frozen ones.
    test_custom_status_last_of_a_turn_wins;
    test_custom_status_set_again_to_the_same_value_is_a_change;
    test_custom_status_empty_is_not_cleared;
    test_custom_status_clear_before_it_was_set;
    test_custom_status_keeps_large_and_odd_values;
    test_custom_status_survives_continue_as_new;
    test_custom_status_survives_the_end;
    test_custom_status_is_not_taken_from_the_start_event;
    test_custom_status_unchanged_by_refused_ack;
    test_custom_status_of_other_instances_is_untouched;
    test_custom_status_starts_anew_after_deletion: Administration;
}

fn updated(status: Option<&str>) -> EventKind {
    EventKind::CustomStatusUpdated { status: status.map(str::to_owned) }
}

/// The first turn of an instance, which says this.
fn saying(instance: &str, status: &str) -> Ack {
    Ack::first(instance).event(2, updated(Some(status)))
}

/// What a query that has seen this version is told.
async fn status_after(store: &Subject<'_>, instance: &str, seen: u64) -> Option<(Option<String>, u64)> {
    let status = store.get_custom_status(instance, seen).await;
    status.unwrap_or_else(|error| panic!("the custom status of '{instance}' could not be read: {error}"))
}

/// The status is this, at this version, for everybody who has not seen that version yet.
async fn assert_status(store: &Subject<'_>, instance: &str, value: Option<&str>, version: u64) {
    let expected = Some((value.map(str::to_owned), version));
    for seen in [0, version - 1] {
        assert_eq!(status_after(store, instance, seen).await, expected, "for who has seen version {seen}");
    }
    assert_eq!(status_after(store, instance, version).await, None, "who has seen it is told nothing");
}

/// The status has never been set.
async fn assert_no_status(store: &Subject<'_>, instance: &str, why: &str) {
    for seen in [0, 1, 100] {
        assert_eq!(status_after(store, instance, seen).await, None, "{why}");
    }
}

/// A turn that sets the status makes it readable, as version 1.
pub async fn test_custom_status_set<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "half way")).await;
    assert_status(&store, "a", Some("half way"), 1).await;

    store.step(Ack::of("a", 1).event(3, updated(Some("nearly there")))).await;
    assert_status(&store, "a", Some("nearly there"), 2).await;
}

/// Clearing the status is a change: there is a new version, and no value.
pub async fn test_custom_status_clear<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "half way")).await;
    store.step(Ack::of("a", 1).event(3, updated(None))).await;
    assert_status(&store, "a", None, 2).await;

    store.step(Ack::of("a", 1).event(4, updated(Some("again")))).await;
    assert_status(&store, "a", Some("again"), 3).await;
}

/// A turn that does not mention the status changes neither its value nor its version.
pub async fn test_custom_status_none_preserves<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "half way")).await;
    store.step(Ack::of("a", 1)).await;
    store.step(Ack::of("a", 1).signalled(3)).await;
    store.step(Ack::of("a", 1).signalled(4).named("Renamed", "2.0.0")).await;
    assert_status(&store, "a", Some("half way"), 1).await;
}

/// Every turn that mentions the status makes one new version, however often it does.
pub async fn test_custom_status_version_increments<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "version 1")).await;
    let mut id = 3;
    for version in 2..=6 {
        let status = format!("version {version}");
        let mut turn = Ack::of("a", 1);
        for _ in 0..version {
            turn = turn.event(id, updated(Some(&status)));
            id += 1;
        }
        store.step(turn).await;
        assert_status(&store, "a", Some(&status), version).await;
    }
}

/// Who has seen the latest version, or claims to have seen a later one, is told nothing until there is another.
pub async fn test_custom_status_polling_no_change<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "first")).await;
    store.step(Ack::of("a", 1).event(3, updated(Some("second")))).await;
    for seen in [2, 3, 100] {
        assert_eq!(status_after(&store, "a", seen).await, None, "version 2 is the latest");
    }
    store.step(Ack::of("a", 1).signalled(4)).await;
    assert_eq!(status_after(&store, "a", 2).await, None, "a turn that does not mention it is no change");

    store.step(Ack::of("a", 1).event(5, updated(Some("third")))).await;
    assert_eq!(
        status_after(&store, "a", 2).await,
        Some((Some("third".to_owned()), 3)),
        "now there is another"
    );
    assert_eq!(status_after(&store, "a", 3).await, None, "version 3 is the latest");
}

/// An instance that does not exist has no status, and asking is no error; mail for it changes nothing.
pub async fn test_custom_status_nonexistent_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("other", "half way")).await;
    assert_no_status(&store, "a", "there is no such instance").await;
    store.post(signal("a", "hello")).await;
    store.post(queue_message("a", "hello")).await;
    store.post(start("a")).await;
    assert_no_status(&store, "a", "mail does not make an instance").await;
}

/// An instance that never set its status has none, and its version is below every version that is told.
pub async fn test_custom_status_default_on_new_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    assert_no_status(&store, "a", "it was never set").await;
    store.step(Ack::of("a", 1).signalled(2)).await;
    assert_no_status(&store, "a", "it was never set").await;
    store.step(Ack::of("a", 1).event(3, updated(Some("now")))).await;
    assert_status(&store, "a", Some("now"), 1).await;
}

/// Of several changes in one turn the last one counts, whether it sets or clears.
pub async fn test_custom_status_last_of_a_turn_wins<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let turn = saying("a", "first").event(3, updated(Some("second"))).signalled(4);
    store.begin(turn.event(5, updated(Some("third"))).signalled(6)).await;
    assert_status(&store, "a", Some("third"), 1).await;

    let turn = Ack::of("a", 1).event(7, updated(Some("fourth"))).event(8, updated(None));
    store.step(turn).await;
    assert_status(&store, "a", None, 2).await;

    let turn = Ack::of("a", 1).event(9, updated(None)).event(10, updated(Some("fifth")));
    store.step(turn).await;
    assert_status(&store, "a", Some("fifth"), 3).await;
}

/// Setting the value that is there already is a change: the version says that somebody spoke.
pub async fn test_custom_status_set_again_to_the_same_value_is_a_change<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "half way")).await;
    store.step(Ack::of("a", 1).event(3, updated(Some("half way")))).await;
    assert_status(&store, "a", Some("half way"), 2).await;
}

/// An empty status is a value; a cleared one is not.
pub async fn test_custom_status_empty_is_not_cleared<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "")).await;
    assert_status(&store, "a", Some(""), 1).await;
    store.step(Ack::of("a", 1).event(3, updated(None))).await;
    assert_status(&store, "a", None, 2).await;
}

/// Clearing a status that was never set is a change all the same.
pub async fn test_custom_status_clear_before_it_was_set<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").event(2, updated(None))).await;
    assert_status(&store, "a", None, 1).await;
}

/// A status comes back as it was set: as large as it may be, in any language, with any sign.
pub async fn test_custom_status_keeps_large_and_odd_values<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let large = "x".repeat(MAX_CUSTOM_STATUS_BYTES);
    store.begin(saying("a", &large)).await;
    assert_status(&store, "a", Some(&large), 1).await;

    let odd = "{\"step\": 'three'}; -- 東京 \u{1f680} \\n \n\t%_";
    store.step(Ack::of("a", 1).event(3, updated(Some(odd)))).await;
    assert_status(&store, "a", Some(odd), 2).await;
}

/// The status belongs to the instance: the next execution finds it, and goes on with the versions.
pub async fn test_custom_status_survives_continue_as_new<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "first execution").continuing(3)).await;
    assert_status(&store, "a", Some("first execution"), 1).await;

    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::first_of("a", 2)).await;
    assert_status(&store, "a", Some("first execution"), 1).await;
    store.step(Ack::of("a", 2).event(2, updated(Some("second execution")))).await;
    assert_status(&store, "a", Some("second execution"), 2).await;
}

/// The status stays readable when the execution has ended, and the last turn may still set it.
pub async fn test_custom_status_survives_the_end<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("completed", "half way")).await;
    store.step(Ack::of("completed", 1).completing(3)).await;
    assert_status(&store, "completed", Some("half way"), 1).await;

    store.begin(saying("failed", "half way")).await;
    store.step(Ack::of("failed", 1).event(3, updated(Some("went wrong"))).failing(4)).await;
    assert_status(&store, "failed", Some("went wrong"), 2).await;
}

/// The status that an execution begins with is in its start event for the code; the store is not told by it.
pub async fn test_custom_status_is_not_taken_from_the_start_event<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut kind = crate::support::started();
    if let EventKind::OrchestrationStarted { initial_custom_status, .. } = &mut kind {
        *initial_custom_status = Some("from before".to_owned());
    }
    let mut first = Ack::first("a");
    first.events = vec![event("a", 1, 1, kind)];
    store.begin(first).await;
    assert_no_status(&store, "a", "no turn has set it").await;
}

/// A commit that is refused changes neither the value nor the version.
pub async fn test_custom_status_unchanged_by_refused_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "half way")).await;
    store.post(signal("a", "wake up")).await;
    let turn = store.fetch("a").await;

    let conflicting = Ack::of("a", 1).event(2, updated(Some("wrong")));
    assert_refused(&store.try_ack(&turn.token, conflicting).await, "a turn whose event is recorded already");
    let next = Ack::of("a", 1).event(3, updated(Some("wrong")));
    assert_refused(&store.try_ack("no token", next.clone()).await, "a turn without a lease");
    store.expire_leases().await;
    assert_refused(&store.try_ack(&turn.token, next).await, "a turn whose lease ran out");
    assert_status(&store, "a", Some("half way"), 1).await;

    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).event(3, updated(Some("right")))).await;
    assert_status(&store, "a", Some("right"), 2).await;
}

/// Each instance has its own status and its own versions.
pub async fn test_custom_status_of_other_instances_is_untouched<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "of a")).await;
    store.begin(saying("b", "of b")).await;
    store.create("c").await;
    store.step(Ack::of("a", 1).event(3, updated(Some("of a again")))).await;
    store.step(Ack::of("a", 1).event(4, updated(None))).await;
    assert_status(&store, "a", None, 3).await;
    assert_status(&store, "b", Some("of b"), 1).await;
    assert_no_status(&store, "c", "it was never set").await;
}

/// A deleted instance has no status, and the next one of its name begins with none.
pub async fn test_custom_status_starts_anew_after_deletion<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(saying("a", "half way")).await;
    store.step(Ack::of("a", 1).event(3, updated(Some("done"))).completing(4)).await;
    store.admin().delete_instance("a", false).await.expect("an instance that has ended can be deleted");
    assert_no_status(&store, "a", "it was deleted").await;

    store.create("a").await;
    assert_no_status(&store, "a", "it is another instance").await;
    store.step(Ack::of("a", 1).event(2, updated(Some("anew")))).await;
    assert_status(&store, "a", Some("anew"), 1).await;
}
