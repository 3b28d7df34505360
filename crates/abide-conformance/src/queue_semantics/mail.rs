//! The queue of messages: what arrives, where, and in which order.

use abide_model::{ErrorDetails, WorkItem};

use crate::ProviderFactory;
use crate::instance_locking::{give_back, lease_all};
use crate::support::{
    Ack, Subject, cancel, completed, continue_as_new, queue_message, signal, start, start_child, timer,
};

/// Queue messages for something that is no instance, and that nothing starts, are dropped: nobody is leased for them,
/// and they are not there when it starts. Other mail waits for the start.
pub async fn test_orphan_queue_messages_dropped<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(queue_message("a", "first")).await;
    store.post(queue_message("a", "second")).await;
    store.assert_no_turn("queue messages alone start nothing").await;
    store.post(signal("a", "waiting")).await;
    store.assert_no_turn("a signal alone starts nothing").await;
    let stats = store.get_instance_stats("a").await.expect("stats can be read");
    assert_eq!(stats, None, "mail creates no instance");

    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    let kept = [signal("a", "waiting"), start("a")];
    assert_eq!(turn.item.messages, kept, "the queue messages were for nobody, the signal waits");
    assert_eq!(turn.attempt, 1, "mail that waits for a start was never leased");
    store.ack(&turn.token, Ack::first("a")).await;
    store.post(queue_message("a", "third")).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [queue_message("a", "third")],
        "an instance gets its queue messages"
    );
}

/// Queue messages for something that is about to start are kept, as soon as what starts it is enqueued.
pub async fn test_queue_messages_of_a_starting_instance_are_kept<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.post(queue_message("a", "queued")).await;
    let turn = store.fetch("a").await;
    assert_eq!(
        turn.item.messages,
        [start("a"), queue_message("a", "queued")],
        "a queue message behind a start waits for it"
    );
    store.post(queue_message("a", "while leased")).await;
    give_back(&store, &turn).await;
    let turn = store.fetch("a").await;
    let expected = [start("a"), queue_message("a", "queued"), queue_message("a", "while leased")];
    assert_eq!(turn.item.messages, expected, "a queue message that came while the start was leased is kept");
    store.post(queue_message("a", "during the first turn")).await;
    store.ack(&turn.token, Ack::first("a")).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [queue_message("a", "during the first turn")],
        "a queue message that came during the first turn is kept"
    );
}

/// A batch has the messages in the order in which they were enqueued, by whatever call.
pub async fn test_messages_arrive_in_order_of_enqueueing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("b").await;
    store.create("a").await;
    for number in 0..12 {
        store.post(signal("a", &number.to_string())).await;
        store.post(signal("b", "in between")).await;
    }
    let turns = lease_all(&store).await;
    let expected: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    assert_eq!(turns["a"].signals(), expected, "a batch is in the order of enqueueing");
    assert_eq!(turns["b"].signals().len(), 12, "another instance's mail is complete");

    store.ack(&turns["b"].token, Ack::of("b", 1)).await;
    store.post(signal("b", "before")).await;
    let sends = Ack::of("a", 1).mail(signal("b", "one")).mail(signal("b", "two")).mail(signal("b", "three"));
    store.ack(&turns["a"].token, sends).await;
    store.post(signal("b", "after")).await;
    let turn = store.fetch("b").await;
    assert_eq!(turn.signals(), ["before", "one", "two", "three", "after"], "a commit sends in its order");
    give_back(&store, &turn).await;
    store.post(signal("b", "last")).await;
    let again = ["before", "one", "two", "three", "after", "last"];
    assert_eq!(store.fetch("b").await.signals(), again, "what is given back keeps its place");
}

/// Messages of every kind come out as they were put in.
pub async fn test_messages_arrive_as_sent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let messages = every_kind_for("a", store.now_ms() - 1_000);
    for message in &messages {
        store.post(message.clone()).await;
    }
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, messages, "enqueued messages came out changed");

    let mut ack = Ack::of("a", 1);
    ack.orchestrator_items.clone_from(&messages);
    store.ack(&turn.token, ack).await;
    assert_eq!(store.fetch("a").await.item.messages, messages, "committed messages came out changed");
}

/// A commit sends to whom it wants: to its own instance, to others, and to those that it starts.
pub async fn test_committed_messages_reach_other_instances<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("b").await;
    let first = Ack::first("a")
        .mail(signal("b", "hello"))
        .mail(start("c"))
        .mail(signal("a", "note to self"))
        .mail(signal("c", "welcome"));
    store.begin(first).await;
    let turns = lease_all(&store).await;
    let names: Vec<&str> = turns.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "b", "c"], "a commit's messages can be seen at once");
    assert_eq!(
        turns["a"].item.messages,
        [signal("a", "note to self")],
        "a commit may send to its own instance"
    );
    assert_eq!(turns["b"].item.messages, [signal("b", "hello")], "a commit may send to another instance");
    assert_eq!(
        turns["c"].item.messages,
        [start("c"), signal("c", "welcome")],
        "a commit may start an instance and send to it"
    );
    assert!(turns.values().all(|turn| turn.attempt == 1), "mail that nobody leased is at attempt one");
}

/// What a child says goes to the instance that waits for it.
pub async fn test_child_result_reaches_its_parent<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    let result = WorkItem::SubOrchCompleted {
        parent_instance: "parent".to_owned(),
        parent_execution_id: 1,
        parent_id: 2,
        result: "grown up".to_owned(),
    };
    store.begin(Ack::first("child").mail(result.clone()).completing(2)).await;
    let turn = store.fetch("parent").await;
    assert_eq!(turn.item.messages, [result], "a child's result is mail for its parent");
    store.assert_no_turn("the result is for the parent alone").await;
}

/// A commit without a single event is a commit: its batch goes, its lease ends, its history stays.
pub async fn test_empty_turn_consumes_its_batch<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    let before = store.history("a").await;
    store.post(signal("a", "ignored")).await;
    let turn = store.fetch("a").await;
    store.ack(&turn.token, Ack::of("a", 1)).await;
    assert_eq!(store.history("a").await, before, "an empty commit changes no history");
    store.expire_leases().await;
    store.assert_no_turn("the batch was consumed").await;
    store.post(signal("a", "next")).await;
    let next = store.fetch("a").await;
    assert_eq!(next.signals(), ["next"], "an empty commit ends its lease");
    assert_eq!(next.item.execution_id, 1, "an empty commit begins no execution");
    assert_eq!(next.item.history, before, "an empty commit changes no history");
}

/// A commit appends: what was recorded before stays as it was, and the whole is in the order of the ids.
pub async fn test_ack_appends_without_rewriting<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    let mut expected = store.history("a").await;
    for id in [3, 7, 8, 20, 100, 1_000] {
        let ack = Ack::of("a", 1).signalled(id);
        expected.extend(ack.events.clone());
        store.step(ack).await;
        assert_eq!(store.history("a").await, expected, "a commit appends, and touches nothing else");
    }
    store.post(signal("a", "look")).await;
    assert_eq!(store.fetch("a").await.item.history, expected, "a lease carries the whole history, in order");
}

/// A message of every kind, all for one instance and visible at once.
fn every_kind_for(instance: &str, past_ms: u64) -> Vec<WorkItem> {
    let details = ErrorDetails::orchestration_failed("broken");
    let parent_instance = instance.to_owned();
    vec![
        completed(instance, 2),
        WorkItem::ActivityFailed {
            instance: instance.to_owned(),
            execution_id: 1,
            id: 3,
            details: details.clone(),
        },
        timer(instance, 4, past_ms),
        signal(instance, "signal"),
        queue_message(instance, "queue"),
        cancel(instance),
        WorkItem::SubOrchCompleted {
            parent_instance: parent_instance.clone(),
            parent_execution_id: 1,
            parent_id: 5,
            result: "done".to_owned(),
        },
        WorkItem::SubOrchFailed { parent_instance, parent_execution_id: 1, parent_id: 6, details },
        start(instance),
        start_child(instance, "somebody", 9),
        with_carried_mail(continue_as_new(instance)),
    ]
}

fn with_carried_mail(mut message: WorkItem) -> WorkItem {
    if let WorkItem::ContinueAsNew { carry_forward_events, initial_custom_status, .. } = &mut message {
        carry_forward_events.push(("inbox".to_owned(), "unread".to_owned()));
        *initial_custom_status = Some("halfway".to_owned());
    }
    message
}
