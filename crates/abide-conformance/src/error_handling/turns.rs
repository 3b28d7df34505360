//! Turns that may not be committed, and some that look as if.

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::instance_locking::{assert_powerless, lease_all};
use crate::multi_execution::continue_as_new_into;
use crate::support::{
    Ack, ORCHESTRATION, Subject, VERSION, activity, assert_refused, event, identifier, signal, start, started,
};

/// A commit with a token that the store never gave out is refused for good as an invalid token, and does nothing of what
/// it says.
pub async fn test_invalid_lock_token_on_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    let before = Observed::of(&store, "a").await;
    let ack = Ack::of("a", 1)
        .signalled(3)
        .scheduling(activity("a", 4))
        .mail(start("c"))
        .cancelling(identifier("a", 2))
        .completing(5);
    let refused = store.try_ack("no-such-token", ack).await;
    assert_refused(&refused, "a commit with a token that was never given out");
    if let Err(error) = refused {
        assert!(error.message.contains("Invalid lock token"), "the message says what is wrong: {error}");
    }

    assert_eq!(Observed::of(&store, "a").await, before, "the refused commit changed something");
    store.assert_no_turn("the refused commit sends nothing and ends no lease").await;
    assert_eq!(store.fetch_work().await.id(), 2, "the refused commit takes nothing back");
    store.assert_no_work("the refused commit enqueues nothing").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
}

/// An event id that is taken, by the history or by the same commit, is refused for good; the recorded event stays as it
/// was. The same id in another execution or instance is another event.
pub async fn test_duplicate_event_id_rejection<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("other").await;
    store.begin(Ack::first("a").signalled(2)).await;
    let before = Observed::of(&store, "a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    for (ack, why) in [
        (Ack::of("a", 1).event(2, started()), "the last event again"),
        (Ack::of("a", 1).signalled(1), "the first event again"),
        (Ack::of("a", 1).signalled(1).signalled(2).signalled(3), "recorded events before a new one"),
        (Ack::of("a", 1).signalled(3).signalled(2), "a recorded event after a new one"),
        (Ack::of("a", 1).signalled(3).signalled(3), "a new event twice"),
    ] {
        assert_refused(&store.try_ack(&turn.token, ack).await, why);
        assert_eq!(Observed::of(&store, "a").await, before, "{why} was refused, but changed something");
        store.assert_no_turn("a refused commit keeps its lease and sends nothing").await;
    }
    store.ack(&turn.token, Ack::of("a", 1).signalled(3)).await;
    assert_eq!(
        store.event_ids("a", 1).await,
        [1, 2, 3],
        "the holder of the lease can commit a turn that is right"
    );
    continue_as_new_into(&store, "a", 2).await;
    store.step(Ack::of("a", 2).signalled(2)).await;
    assert_eq!(store.event_ids("a", 2).await, [1, 2], "each execution counts its events from one");
    assert_eq!(
        store.event_ids("a", 1).await,
        [1, 2, 3, 4],
        "a commit of the second execution changed the first"
    );
    store.step(Ack::of("other", 1).signalled(2)).await;
    assert_eq!(store.event_ids("other", 1).await, [1, 2], "each instance has its own events");
}

/// An event that was never numbered is refused for good, wherever it stands.
pub async fn test_event_id_zero_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let before = Observed::of(&store, "a").await;
    store.post(signal("a", "mail")).await;
    let turn = store.fetch("a").await;
    for ack in [
        Ack::of("a", 1).signalled(0),
        Ack::of("a", 1).signalled(0).signalled(2),
        Ack::of("a", 1).signalled(2).signalled(0),
    ] {
        let refused = store.try_ack(&turn.token, ack.work(activity("a", 2)).mail(start("c"))).await;
        assert_refused(&refused, "an event without a number");
        assert_eq!(Observed::of(&store, "a").await, before, "the refused commit changed something");
    }
    store.assert_no_turn("a refused commit keeps its lease and sends nothing").await;
    store.assert_no_work("a refused commit enqueues nothing").await;
    store.ack(&turn.token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(
        store.event_ids("a", 1).await,
        [1, 2],
        "the holder of the lease can commit a turn that is right"
    );
}

/// A first commit whose metadata says nothing is written all the same: the start event tells name and version.
pub async fn test_missing_instance_metadata<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1).event(1, started())).await;
    assert_eq!(store.event_ids("a", 1).await, [1], "the history is kept");
    store.assert_no_turn("the start was consumed").await;

    store.post(signal("a", "mail")).await;
    let next = store.fetch("a").await;
    assert_eq!(next.item.orchestration_name, ORCHESTRATION, "the start event tells the name");
    assert_eq!(next.item.version, VERSION, "the start event tells the version");
    assert_eq!(next.item.execution_id, 1, "the first execution is number one");
    assert_eq!(next.item.history, store.history("a").await, "a lease carries the history");
    assert_eq!(next.item.history.len(), 1, "one event was committed");
}

/// An empty commit without metadata for something that is no instance consumes its batch, and creates nothing.
pub async fn test_empty_turn_without_metadata_only_consumes<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let before = Observed::of(&store, "a").await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1)).await;
    assert_eq!(Observed::of(&store, "a").await, before, "an empty commit created something");
    store.expire_leases().await;
    store.assert_no_turn("the start was consumed").await;

    store.begin(Ack::first("a")).await;
    assert_eq!(store.event_ids("a", 1).await, [1], "the instance can be started afterwards");
}

/// A commit under a lease that ran out is refused for good and changes nothing, and the messages are handed out again.
pub async fn test_lock_expiration_during_ack<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "mail")).await;
    let late = store.fetch("a").await;
    store.expire_leases().await;
    assert_powerless(&store, &late.token, "a", "the lease ran out").await;
    store.assert_no_work("a late commit enqueues nothing").await;

    let turns = lease_all(&store).await;
    assert_eq!(turns["a"].signals(), ["mail"], "a late commit consumes, sends and hides nothing");
    assert_eq!(turns["a"].attempt, 2, "the late lease was an attempt");
    store.ack(&turns["a"].token, Ack::of("a", 1).signalled(2)).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2], "the one who has the lease can commit");
}

/// Giving back with a token that was never given out is refused for good: the lease goes on, nothing is hidden, and no
/// attempt is forgiven.
pub async fn test_unknown_token_on_abandon_changes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    store.post(signal("a", "leased")).await;
    let turn = store.fetch("a").await;
    store.post(signal("a", "waiting")).await;
    let abandoned = store.abandon_orchestration_item("no-such-token", Some(store.lock() * 4), true).await;
    assert_refused(&abandoned, "giving back with a token that was never given out");
    store.assert_no_turn("a wrong token ends no lease").await;

    store.expire_leases().await;
    let again = store.fetch("a").await;
    assert_eq!(again.signals(), ["leased", "waiting"], "a wrong token hides nothing");
    assert_eq!(again.attempt, 2, "a wrong token forgives no attempt");
    assert_ne!(again.token, turn.token, "the lease ended in its time, and another one has another token");
}

/// Text is kept as it is: quotes, control characters, other scripts, JSON, and much of it, in names, messages,
/// activities and events.
pub async fn test_awkward_text_survives<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let name = "o'brien \"quoted\" %_ \\ 雪 👩‍👩‍👧; --";
    let long = "0123456789abcdef".repeat(64 * 1024);
    let texts =
        ["'; \"quoted\" \\ {\"json\": [1, null]}", "line\nline\ttab\r\u{0}\u{7f}", "雪 👩‍👩‍👧", "", &long];
    store.create(name).await;
    for (number, text) in (2..).zip(texts) {
        store.post(signal(name, text)).await;
        let turn = store.fetch(name).await;
        assert_eq!(turn.signals(), [text], "a message came out changed");
        let said = crate::EventKind::ExternalEvent { name: text.to_owned(), data: text.to_owned() };
        let expected = event(name, 1, number, said.clone());
        store.ack(&turn.token, Ack::of(name, 1).event(number, said)).await;
        let history = store.history(name).await;
        let recorded = history.last().expect("there are events");
        assert_eq!(
            (recorded.event_id, &recorded.kind),
            (expected.event_id, &expected.kind),
            "an event came out changed"
        );
        assert_eq!(recorded.instance_id, name, "an event came out of another instance");

        let work = activity_with_input(name, number, text);
        store.post_work(work.clone()).await;
        let job = store.fetch_work().await;
        assert_eq!(job.item, work, "an activity came out changed");
        store.ack_work_item(&job.token, None).await.expect("a leased activity can be removed");
    }
}

/// What does not exist is empty, not an error: histories, statuses, values, statistics.
pub async fn test_reading_the_unknown_is_empty<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    assert!(store.history("nobody").await.is_empty(), "what does not exist has no history");
    assert!(store.event_ids("nobody", 1).await.is_empty(), "what does not exist has no executions");
    assert!(store.event_ids("a", 2).await.is_empty(), "an execution that never was has no events");
    let custom = store.get_custom_status("nobody", 0).await.expect("an unknown status is no error");
    assert_eq!(custom, None, "what does not exist has no custom status");
    let value = store.get_kv_value("nobody", "key").await.expect("an unknown value is no error");
    assert_eq!(value, None, "what does not exist has no value");
    let values = store.get_kv_all_values("nobody").await.expect("unknown values are no error");
    assert!(values.is_empty(), "what does not exist has no values");
    let stats = store.get_instance_stats("nobody").await.expect("an unknown instance is no error");
    assert_eq!(stats, None, "what does not exist has no statistics");
}

fn activity_with_input(instance: &str, id: u64, text: &str) -> abide_model::WorkItem {
    abide_model::WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: text.to_owned(),
        input: text.to_owned(),
        session_id: None,
        tag: None,
    }
}
