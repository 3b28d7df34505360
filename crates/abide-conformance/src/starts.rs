//! An instance is started once, and whoever starts it is told whether it did.

use std::time::Duration;

use abide_model::{ExecutionStatus, WorkItem};
use abide_provider::{Ability, Enqueue, Rejection, RequestKey, Start};

use crate::ProviderFactory;
use crate::batches::calls::assert_rejected_as;
use crate::suite::area;
use crate::support::{
    Ack, ORCHESTRATION, Subject, activity, beside, cancel, continue_as_new, queue_message, signal, start, start_of,
};

area! {
    starts;
    test_start_creates_what_is_not_there;
    test_delayed_start_comes_after_its_delay;
    test_start_of_an_instance_says_that_it_exists;
    test_only_a_start_starts_an_instance;
    test_start_sees_a_start_that_waits: Need::Ability(Ability::AtomicStarts);
    test_start_sees_a_start_that_is_delayed: Need::Ability(Ability::AtomicStarts);
    test_start_sees_a_start_that_is_leased: Need::Ability(Ability::AtomicStarts);
    test_start_sees_a_successor_that_waits: Need::Ability(Ability::AtomicStarts);
    test_start_is_not_hindered_by_other_mail: Need::Ability(Ability::AtomicStarts);
    test_repeated_start_is_answered_like_the_first: Need::Ability(Ability::AtomicStarts);
    test_repeated_start_that_met_an_instance_looks_again: Need::Ability(Ability::AtomicStarts), Administration;
    test_refused_start_is_not_remembered: Need::Ability(Ability::AtomicStarts);
    test_starts_at_the_same_time_create_one: Need::Ability(Ability::AtomicStarts);
    test_repetitions_of_a_start_at_the_same_time_all_created: Need::Ability(Ability::AtomicStarts);
    test_start_after_deletion_creates_anew: Need::Ability(Ability::AtomicStarts), Administration;
    test_message_for_an_existing_instance_reaches_it;
    test_message_for_an_existing_instance_is_not_stored_without_one;
    test_message_for_an_existing_instance_starts_nothing;
    test_message_for_an_existing_instance_sees_a_start_that_waits: Need::Ability(Ability::AtomicStarts);
    test_message_for_nobody_is_not_remembered: Need::Ability(Ability::AtomicStarts);
    test_repeated_message_for_an_existing_instance_is_sent_once: Need::Ability(Ability::AtomicStarts);
}

/// What is not there is created: its start is sent, once, and is a start like any other.
pub async fn test_start_creates_what_is_not_there<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (key, instance) in [(1, "a"), (2, "b")] {
        assert_eq!(started(&store, instance, key).await, Start::Created);
        let turn = store.fetch(instance).await;
        assert_eq!(turn.item.messages, [start(instance)]);
        store.ack(&turn.token, Ack::first(instance)).await;
    }
    store.assert_no_turn("each start was sent once").await;
}

/// A start can be delayed like any message.
pub async fn test_delayed_start_comes_after_its_delay<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let later = Enqueue { delay: Some(store.lock()), ..request(start("a"), 1) };
    assert_eq!(store.start_once(later).await.expect("a start is sent"), Start::Created);
    store.assert_no_turn("the start is delayed").await;
    store.pass(store.lock() + Duration::from_millis(200)).await;
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// An instance exists whether it runs or has ended, however it ended. Nothing is sent to it.
pub async fn test_start_of_an_instance_says_that_it_exists<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running").await;
    for (status, instance) in [(ExecutionStatus::Completed, "completed"), (ExecutionStatus::Failed, "failed")]
    {
        store.begin(Ack::first(instance).ending(2, status, "over")).await;
    }
    for (key, instance) in [(1, "running"), (2, "completed"), (3, "failed")] {
        assert_eq!(started(&store, instance, key).await, Start::Exists, "{instance}");
    }
    store.assert_no_turn("nothing is sent to what is there").await;
}

/// Nothing else starts an instance: it is refused, and nothing is sent.
pub async fn test_only_a_start_starts_an_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("there").await;
    for instance in ["a", "there"] {
        let items = [
            signal(instance, "go"),
            queue_message(instance, "go"),
            continue_as_new(instance),
            activity(instance, 2),
        ];
        for item in items {
            let refused = store.start_once(request(item.clone(), 1)).await;
            assert_rejected_as(&refused, Rejection::Invalid, &format!("{item:?}"));
        }
    }
    store.assert_no_turn("nothing was sent").await;
    store.assert_no_work("nothing was scheduled").await;
    assert_eq!(started(&store, "a", 2).await, Start::Created);
}

/// An instance whose start is in the queue is as good as there, whoever sent it. Nothing more is sent.
pub async fn test_start_sees_a_start_that_waits<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start_of("a", ORCHESTRATION, None)).await;
    assert_eq!(started(&store, "a", 1).await, Start::Exists);
    assert_eq!(started(&store, "b", 2).await, Start::Created);
    assert_eq!(started(&store, "b", 3).await, Start::Exists);
    assert_eq!(store.fetch("a").await.item.messages, [start_of("a", ORCHESTRATION, None)]);
    assert_eq!(store.fetch("b").await.item.messages, [start("b")]);
}

/// The same if it cannot be seen yet.
pub async fn test_start_sees_a_start_that_is_delayed<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let later = Enqueue { delay: Some(store.lock()), ..request(start("a"), 1) };
    assert_eq!(store.start_once(later).await.expect("a start is sent"), Start::Created);
    assert_eq!(started(&store, "a", 2).await, Start::Exists);
    store.assert_no_turn("the start is delayed, and there is no other").await;
    store.pass(store.lock() + Duration::from_millis(200)).await;
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// The same while somebody runs its first turn.
pub async fn test_start_sees_a_start_that_is_leased<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert_eq!(started(&store, "a", 1).await, Start::Created);
    let turn = store.fetch("a").await;
    assert_eq!(started(&store, "a", 2).await, Start::Exists);
    store.ack(&turn.token, Ack::first("a")).await;
    store.assert_no_turn("nothing was sent behind the first turn").await;
}

/// A `ContinueAsNew` in the mailbox of what is no instance will start one, too.
pub async fn test_start_sees_a_successor_that_waits<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(continue_as_new("a")).await;
    assert_eq!(started(&store, "a", 1).await, Start::Exists);
    assert_eq!(store.fetch("a").await.item.messages, [continue_as_new("a")]);
}

/// Mail for a name that nobody has started is no instance: it waits for the start.
pub async fn test_start_is_not_hindered_by_other_mail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "early")).await;
    assert_eq!(started(&store, "a", 1).await, Start::Created);
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [signal("a", "early"), start("a")]);
}

/// Who repeats a start that created its instance is told so again, however far that has come, and nothing more is
/// sent. That it exists is its own doing.
pub async fn test_repeated_start_is_answered_like_the_first<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for _ in 0..2 {
        assert_eq!(started(&store, "a", 1).await, Start::Created, "it waits in the queue");
    }
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [start("a")]);
    assert_eq!(started(&store, "a", 1).await, Start::Created, "its first turn runs");
    store.ack(&turn.token, Ack::first("a")).await;
    assert_eq!(started(&store, "a", 1).await, Start::Created, "it runs");
    store.step(Ack::of("a", 1).completing(2)).await;
    assert_eq!(started(&store, "a", 1).await, Start::Created, "it has ended");
    assert_eq!(started(&store, "a", 2).await, Start::Exists, "this is another request");
    store.assert_no_turn("repetitions send nothing").await;
}

/// A start that created nothing is not remembered: its repetition says what is there now.
pub async fn test_repeated_start_that_met_an_instance_looks_again<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").completing(2)).await;
    for _ in 0..2 {
        assert_eq!(started(&store, "a", 1).await, Start::Exists);
    }
    store.admin().delete_instance("a", false).await.expect("the instance has ended");
    assert_eq!(started(&store, "a", 1).await, Start::Created);
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// What is refused leaves not even its key behind.
pub async fn test_refused_start_is_not_remembered<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let refused = store.start_once(request(signal("a", "go"), 1)).await;
    assert_rejected_as(&refused, Rejection::Invalid, "a signal, which starts nothing");
    assert_eq!(started(&store, "a", 1).await, Start::Created);
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// Of several who start one instance at the same time, exactly one created it.
pub async fn test_starts_at_the_same_time_create_one<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (first_key, instance) in [(10, "a"), (20, "b"), (30, "c")] {
        let answers = race(&store, instance, [0, 1, 2, 3, 4, 5, 6, 7].map(|more| first_key + more)).await;
        let created = answers.iter().filter(|answer| **answer == Start::Created).count();
        assert_eq!(created, 1, "one creates the instance, and the others are told: {answers:?}");
        assert_eq!(store.fetch(instance).await.item.messages, [start(instance)]);
        store.assert_no_turn("one start was sent").await;
    }
}

/// Repetitions that race each other are one request: each of them created the instance, and one start is sent.
pub async fn test_repetitions_of_a_start_at_the_same_time_all_created<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let answers = race(&store, "a", [1; 8]).await;
    assert_eq!(answers, [Start::Created; 8]);
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// A name whose instance was deleted is free.
pub async fn test_start_after_deletion_creates_anew<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    assert_eq!(started(&store, "a", 1).await, Start::Created);
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::first("a")).await;
    store.admin().delete_instance("a", true).await.expect("the instance is deleted");
    assert_eq!(started(&store, "a", 2).await, Start::Created);
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// A message for an instance that exists is sent to it, whether it runs or has ended.
pub async fn test_message_for_an_existing_instance_reaches_it<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("running").await;
    store.begin(Ack::first("ended").completing(2)).await;
    for (key, instance) in [(1, "running"), (2, "ended")] {
        let sent = store.enqueue_existing(request(signal(instance, "go"), key)).await;
        sent.expect("there is such an instance");
        assert_eq!(store.fetch(instance).await.item.messages, [signal(instance, "go")]);
    }
}

/// A message for an instance that does not exist is rejected, and not stored: it does not reach one that is
/// started later.
pub async fn test_message_for_an_existing_instance_is_not_stored_without_one<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (key, item) in [(1, signal("a", "go")), (2, cancel("a")), (3, queue_message("a", "go"))] {
        let rejected = store.enqueue_existing(request(item, key)).await;
        assert_rejected_as(&rejected, Rejection::NotFound, "a message for what does not exist");
    }
    store.post(start("a")).await;
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// What starts an execution is no message for an instance that exists.
pub async fn test_message_for_an_existing_instance_starts_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for (key, item) in [(1, start("a")), (2, continue_as_new("a")), (3, activity("a", 7))] {
        let rejected = store.enqueue_existing(request(item, key)).await;
        assert_rejected_as(&rejected, Rejection::Invalid, "what is no message for an instance that exists");
    }
    store.assert_no_turn("nothing was sent").await;
}

/// An instance whose start waits in the queue exists: whoever was told that it was started can send to it.
pub async fn test_message_for_an_existing_instance_sees_a_start_that_waits<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.enqueue_existing(request(signal("a", "go"), 1)).await.expect("the instance is about to start");
    assert_eq!(store.fetch("a").await.item.messages, [start("a"), signal("a", "go")]);
}

/// What is rejected leaves not even its key behind.
pub async fn test_message_for_nobody_is_not_remembered<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let rejected = store.enqueue_existing(request(signal("a", "go"), 1)).await;
    assert_rejected_as(&rejected, Rejection::NotFound, "a message for what does not exist");
    store.create("a").await;
    store.enqueue_existing(request(signal("a", "go"), 1)).await.expect("there is such an instance");
    assert_eq!(store.fetch("a").await.item.messages, [signal("a", "go")]);
}

/// A repetition is answered like the first call, and sends nothing.
pub async fn test_repeated_message_for_an_existing_instance_is_sent_once<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    for _ in 0..2 {
        store.enqueue_existing(request(signal("a", "go"), 1)).await.expect("there is such an instance");
    }
    assert_eq!(store.fetch("a").await.item.messages, [signal("a", "go")]);
}

fn request(item: WorkItem, key: u8) -> Enqueue {
    Enqueue { item, delay: None, key: RequestKey([key; 16]) }
}

async fn started(store: &Subject<'_>, instance: &str, key: u8) -> Start {
    let answer = store.start_once(request(start(instance), key)).await;
    answer.unwrap_or_else(|error| panic!("'{instance}' could not be started: {error}"))
}

/// Starts an instance with all of these keys at the same time.
async fn race(store: &Subject<'_>, instance: &'static str, keys: [u8; 8]) -> Vec<Start> {
    let callers = keys.map(|key| {
        let provider = store.shared();
        beside(async move { provider.start_once(request(start(instance), key)).await })
    });
    let mut answers = Vec::new();
    for caller in callers {
        let answer = caller.await.expect("a caller does not panic");
        answers.push(answer.unwrap_or_else(|error| panic!("'{instance}' could not be started: {error}")));
    }
    answers
}
