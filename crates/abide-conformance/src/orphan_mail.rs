//! Mail for instances that do not exist harms nobody.
//!
//! It waits for a start, or is dropped if nobody could ever read it; and whoever exists is served as if it were not
//! there.

use std::time::Duration;

use abide_model::{ErrorDetails, WorkItem};

use crate::ProviderFactory;
use crate::batches::calls::{lease_all, names};
use crate::suite::area;
use crate::support::{
    Ack, Subject, activity, cancel, completed, queue_message, signal, start, supporting, timer,
};

area! {
    orphan_mail;
    test_signal_for_nobody_blocks_nobody;
    test_cancellation_of_nobody_blocks_nobody;
    test_cancellation_of_a_child_that_never_started_blocks_nobody;
    test_mail_for_nobody_is_never_fetched_alone;
    test_much_mail_for_nobody_blocks_nobody;
    test_mail_for_nobody_blocks_no_filtered_fetch;
    test_mail_for_nobody_waits_for_a_start;
    test_waiting_for_a_start_is_no_attempt;
    test_queue_messages_for_nobody_are_dropped;
    test_answers_for_nobody_are_dropped;
    test_answers_behind_a_start_are_kept;
    test_answers_of_a_turn_for_nobody_are_dropped;
    test_queue_messages_are_dropped_from_mixed_mail;
    test_queue_messages_behind_a_start_are_kept;
    test_queue_messages_behind_a_postponed_start_are_kept;
    test_result_for_nobody_is_accepted_and_blocks_nobody;
    test_mail_for_a_deleted_instance_blocks_nobody: Administration;
    test_answers_for_a_deleted_instance_do_not_reach_its_successor: Administration;
}

/// A signal to a name that nobody has does not keep others from their turns.
pub async fn test_signal_for_nobody_blocks_nobody<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("typo", "hello")).await;
    assert_served_behind_it(&store).await;
}

/// Cancelling an instance that does not exist does not keep others from their turns.
pub async fn test_cancellation_of_nobody_blocks_nobody<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(cancel("missing")).await;
    assert_served_behind_it(&store).await;
}

/// A turn that cancels a child which it never started does not keep others from their turns, nor itself.
pub async fn test_cancellation_of_a_child_that_never_started_blocks_nobody<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("parent").mail(cancel("parent::child"))).await;
    assert_served_behind_it(&store).await;
    store.step(Ack::of("parent", 1).completing(2)).await;
}

/// Three instances are started and run to their end, one after the other, each as soon as it is asked for.
async fn assert_served_behind_it(store: &Subject<'_>) {
    for instance in ["one", "two", "three"] {
        store.post(start(instance)).await;
    }
    let mut served = Vec::new();
    for _ in 0..3 {
        let turn = store.try_fetch().await.expect("instances have mail, but nothing was fetched");
        let first = Ack::first(&turn.item.instance);
        store.ack(&turn.token, first).await;
        served.push(turn.item.instance);
    }
    served.sort();
    assert_eq!(served, ["one", "three", "two"]);
    for instance in ["one", "two", "three"] {
        store.step(Ack::of(instance, 1).completing(2)).await;
        assert_eq!(store.event_ids(instance, 1).await, [1, 2]);
    }
    store.assert_no_turn("everyone is done, and nobody else exists").await;
}

/// No kind of message but a start gives a turn to an instance that does not exist.
pub async fn test_mail_for_nobody_is_never_fetched_alone<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for message in every_kind_but_starts(&store, "ghost") {
        store.post(message.clone()).await;
        store.assert_no_turn(&format!("nobody is there to read {message:?}")).await;
        assert!(lease_all(&store).await.is_empty(), "nobody is there to read {message:?}");
    }
    assert!(store.history("ghost").await.is_empty(), "mail makes no instance");
    let stats = store.get_instance_stats("ghost").await.expect("an instance can be asked for");
    assert!(stats.is_none(), "mail makes no instance");
}

/// Many messages for many names that nobody has are in nobody's way: everyone is found at once, by fetches and by
/// lease calls.
pub async fn test_much_mail_for_nobody_blocks_nobody<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut sender = Ack::first("sender");
    for number in 0..60 {
        let ghost = format!("ghost{}", number % 20);
        sender =
            sender.mail(signal(&ghost, "hello")).mail(cancel(&ghost)).mail(queue_message(&ghost, "hello"));
    }
    store.begin(sender).await;
    store.post(start("one")).await;
    store.post(start("two")).await;
    let first = store.try_fetch().await.expect("two instances have mail, but nothing was fetched");
    let rest = lease_all(&store).await;
    let mut served = names(&rest);
    served.push(&first.item.instance);
    served.sort_unstable();
    assert_eq!(served, ["one", "two"]);
}

/// Mail for nobody is in nobody's way for dispatchers with a filter, either.
pub async fn test_mail_for_nobody_blocks_no_filtered_fetch<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("ghost", "hello")).await;
    store.begin(Ack::first("a").pinned("1.5.0")).await;
    store.post(signal("a", "next")).await;
    let filter = supporting("1.0.0", "1.9.9");
    let turn = store.try_fetch_filtered(Some(&filter)).await;
    let turn = turn.expect("an instance that can be replayed has mail, but nothing was fetched");
    assert_eq!(turn.item.instance, "a");
    let next = store.try_fetch_filtered(Some(&filter)).await;
    assert!(next.is_none(), "nobody else exists: {next:?}");
}

/// Signals and cancellations that came before the start of their instance come with it, in the order of
/// enqueueing.
pub async fn test_mail_for_nobody_waits_for_a_start<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut expected = vec![signal("a", "early"), cancel("a"), signal("a", "again")];
    for message in &expected {
        store.post(message.clone()).await;
    }
    store.assert_no_turn("there is no start").await;
    store.post(start("a")).await;
    store.post(signal("a", "behind")).await;
    expected.extend([start("a"), signal("a", "behind")]);
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, expected);
    store.ack(&turn.token, Ack::first("a")).await;
    store.assert_no_turn("all mail was consumed").await;
}

/// Mail that waits for a start is not tried meanwhile, however often others are fetched.
pub async fn test_waiting_for_a_start_is_no_attempt<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("late", "early")).await;
    store.create("a").await;
    for event in 2..14 {
        store.step(Ack::of("a", 1).signalled(event)).await;
        store.assert_no_turn("there is no start").await;
    }
    store.post(start("late")).await;
    let turn = store.fetch("late").await;
    assert_eq!(turn.attempt, 1);
    assert_eq!(turn.signals(), ["early"]);
}

/// A queue message for an instance that does not exist is dropped: nobody will read it, not even who is started
/// later.
pub async fn test_queue_messages_for_nobody_are_dropped<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(queue_message("a", "lost")).await;
    store.assert_no_turn("nobody is there to read it").await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [start("a")]);
    store.ack(&turn.token, Ack::first("a")).await;
    store.assert_no_turn("the queue message was dropped").await;
}

/// Results, timers and answers of children for an instance that does not exist are dropped: an instance that
/// was deleted can have asked for them, and they are not for one that is started under its name later.
pub async fn test_answers_for_nobody_are_dropped<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for message in answers(&store, "a") {
        store.post(message).await;
    }
    store.post(timer("a", 7, store.now_ms() + 3_600_000)).await;
    store.post_work(activity("a", 2)).await;
    let job = store.fetch_work().await;
    let acked = store.ack_work_item(&job.token, Some(completed("a", 2))).await;
    acked.expect("an activity is finished, whoever waits for it");
    store.assert_no_turn("nobody is there to read it").await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [start("a")]);
    store.ack(&turn.token, Ack::first("a")).await;
    store.assert_no_turn("the answers were dropped").await;
}

/// Results, timers and answers of children are kept if a start waits.
pub async fn test_answers_behind_a_start_are_kept<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let mut expected = vec![start("a")];
    for message in answers(&store, "a") {
        store.post(message.clone()).await;
        expected.push(message);
    }
    assert_eq!(store.fetch("a").await.item.messages, expected);
}

/// What a turn tells a parent that does not exist is dropped.
pub async fn test_answers_of_a_turn_for_nobody_are_dropped<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut child = Ack::first("child");
    for message in answers(&store, "parent") {
        child = child.mail(message);
    }
    store.begin(child).await;
    store.post(start("parent")).await;
    assert_eq!(store.fetch("parent").await.item.messages, [start("parent")]);
}

/// Queue messages for nobody are dropped from among other mail, too, which waits.
pub async fn test_queue_messages_are_dropped_from_mixed_mail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "one")).await;
    store.post(queue_message("a", "lost")).await;
    store.post(signal("a", "two")).await;
    store.post(queue_message("a", "lost too")).await;
    store.assert_no_turn("there is no start").await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [signal("a", "one"), signal("a", "two"), start("a")]);
    store.ack(&turn.token, Ack::first("a")).await;
    store.assert_no_turn("the queue messages were dropped").await;
}

/// Queue messages for an instance that is about to start, or exists, or has ended, are kept.
pub async fn test_queue_messages_behind_a_start_are_kept<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    store.post(queue_message("a", "one")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [start("a"), queue_message("a", "one")]);
    store.post(queue_message("a", "while its first turn runs")).await;
    store.ack(&turn.token, Ack::first("a")).await;
    let turn = store.fetch("a").await;
    assert_eq!(turn.item.messages, [queue_message("a", "while its first turn runs")]);
    store.ack(&turn.token, Ack::of("a", 1).completing(2)).await;
    store.post(queue_message("a", "late")).await;
    assert_eq!(store.fetch("a").await.item.messages, [queue_message("a", "late")]);
}

/// An instance whose start is put off is about to start: queue messages for it wait with it.
pub async fn test_queue_messages_behind_a_postponed_start_are_kept<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let turn = store.fetch("a").await;
    let delay = store.lock();
    store.abandon_orchestration_item(&turn.token, Some(delay), true).await.expect("the lease is held");
    store.post(queue_message("a", "patient")).await;
    store.assert_no_turn("the start is put off").await;
    store.pass(delay + Duration::from_millis(200)).await;
    assert_eq!(store.fetch("a").await.item.messages, [start("a"), queue_message("a", "patient")]);
}

/// An activity of an instance that does not exist can be finished. Its result is in nobody's way.
pub async fn test_result_for_nobody_is_accepted_and_blocks_nobody<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("ghost", 2)).await;
    let job = store.fetch_work().await;
    let acked = store.ack_work_item(&job.token, Some(completed("ghost", 2))).await;
    acked.expect("an activity is finished, whoever waits for it");
    store.assert_no_work("the activity is done").await;
    store.assert_no_turn("nobody is there to hear of it").await;
    assert_served_behind_it(&store).await;
}

/// Mail for an instance that was deleted is mail for nobody.
pub async fn test_mail_for_a_deleted_instance_blocks_nobody<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("gone").completing(2)).await;
    store.admin().delete_instance("gone", false).await.expect("the instance has ended, and is deleted");
    for message in every_kind_but_starts(&store, "gone") {
        store.post(message).await;
    }
    store.post(queue_message("gone", "lost")).await;
    store.assert_no_turn("the instance is gone").await;
    assert_served_behind_it(&store).await;
    assert!(store.history("gone").await.is_empty(), "mail brings nobody back");
}

/// Results, timers and answers of children for a deleted instance do not reach one that is started under its
/// name.
pub async fn test_answers_for_a_deleted_instance_do_not_reach_its_successor<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").completing(2)).await;
    store.admin().delete_instance("a", false).await.expect("the instance has ended, and is deleted");
    for message in answers(&store, "a") {
        store.post(message).await;
    }
    store.post(start("a")).await;
    assert_eq!(store.fetch("a").await.item.messages, [start("a")]);
}

/// A message of every kind that starts nothing, but for queue messages. The timer is due.
fn every_kind_but_starts(store: &Subject<'_>, instance: &str) -> Vec<WorkItem> {
    let mut kinds = vec![signal(instance, "early"), cancel(instance)];
    kinds.extend(answers(store, instance));
    kinds
}

/// What only an instance that exists can have asked for. The timer is due.
fn answers(store: &Subject<'_>, instance: &str) -> Vec<WorkItem> {
    let details = ErrorDetails::Application {
        kind: abide_model::AppErrorKind::ActivityFailed,
        message: "broken".to_owned(),
        retryable: false,
    };
    vec![
        completed(instance, 2),
        WorkItem::ActivityFailed {
            instance: instance.to_owned(),
            execution_id: 1,
            id: 3,
            details: details.clone(),
        },
        timer(instance, 4, store.now_ms() - 1_000),
        WorkItem::SubOrchCompleted {
            parent_instance: instance.to_owned(),
            parent_execution_id: 1,
            parent_id: 5,
            result: "done".to_owned(),
        },
        WorkItem::SubOrchFailed {
            parent_instance: instance.to_owned(),
            parent_execution_id: 1,
            parent_id: 6,
            details,
        },
    ]
}
