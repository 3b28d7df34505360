//! Mail that waits for a start does so for an hour, and then it is gone.

use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{Ability, MAIL_WAITS_FOR_START};

use crate::ProviderFactory;
use crate::batches::calls::{commit, lease, reading};
use crate::factory::Hook;
use crate::suite::area;
use crate::support::{
    Ack, Subject, activity, cancel, completed, event, signal, start, start_child, started,
};

area! {
    waiting_mail;
    test_mail_that_waited_too_long_does_not_reach_a_start: Need::Hook(Hook::MoveTime);
    test_mail_waits_for_a_start_up_to_its_time: Need::Hook(Hook::MoveTime);
    test_each_message_waits_for_its_own_time: Need::Hook(Hook::MoveTime);
    test_mail_that_has_a_start_stays: Need::Hook(Hook::MoveTime);
    test_mail_that_has_a_delayed_start_stays: Need::Hook(Hook::MoveTime);
    test_mail_of_an_instance_stays: Need::Hook(Hook::MoveTime);
    test_mail_of_a_turn_waits_for_a_start_up_to_its_time: Need::Hook(Hook::MoveTime);
    test_a_child_is_not_sent_mail_that_waited_too_long: Need::Hook(Hook::MoveTime);
    test_delayed_mail_waits_from_when_it_is_visible: Need::Hook(Hook::MoveTime);
    test_a_past_is_not_given_mail_that_waited_too_long: Need::Hook(Hook::MoveTime);
    test_mail_is_sent_again_after_mail_that_waited_too_long: Need::Hook(Hook::MoveTime);
    test_mail_that_waited_too_long_leaves_work_alone: Need::Hook(Hook::MoveTime);
    test_mail_left_by_a_start_that_was_consumed_waits_anew: Need::Hook(Hook::MoveTime),
        Need::Ability(Ability::UnreadMailStays);
    test_mail_that_waited_too_long_is_not_counted: Need::Hook(Hook::MoveTime), Administration;
    test_mail_left_by_a_start_that_was_deleted_waits_anew: Need::Hook(Hook::MoveTime), Administration,
        Need::Ability(Ability::UnbornChildren);
}

const MOMENT: Duration = Duration::from_millis(1);

async fn wait_too_long(store: &Subject<'_>) {
    store.pass(MAIL_WAITS_FOR_START).await;
}

/// The messages of the next turn, which is of this instance, and consumes them.
async fn next_mail(store: &Subject<'_>, instance: &str) -> Vec<WorkItem> {
    let turn = store.fetch(instance).await;
    store.ack(&turn.token, Ack::of(instance, 1)).await;
    turn.item.messages
}

/// A signal or a cancel that nobody started an instance for within the hour does not reach one that is started
/// later under its id.
pub async fn test_mail_that_waited_too_long_does_not_reach_a_start<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "forgotten")).await;
    store.post(cancel("a")).await;
    store.post(signal("b", "forgotten")).await;
    wait_too_long(&store).await;
    store.assert_no_turn("there is no start").await;
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [start("a")]);
    store.post(start("b")).await;
    store.post(signal("b", "new")).await;
    assert_eq!(next_mail(&store, "b").await, [start("b"), signal("b", "new")]);
}

/// Until the hour is over, mail waits, in its order.
pub async fn test_mail_waits_for_a_start_up_to_its_time<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "early")).await;
    store.post(cancel("a")).await;
    store.pass(MAIL_WAITS_FOR_START.saturating_sub(MOMENT)).await;
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [signal("a", "early"), cancel("a"), start("a")]);
}

/// A later message does not prolong the time of an earlier one, and does not share its end.
pub async fn test_each_message_waits_for_its_own_time<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "old")).await;
    store.pass(MAIL_WAITS_FOR_START / 2).await;
    store.post(signal("a", "young")).await;
    store.pass(MAIL_WAITS_FOR_START / 2).await;
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [signal("a", "young"), start("a")]);
}

/// Once there is a start, mail that waited for it stays, however long it takes until somebody runs it.
pub async fn test_mail_that_has_a_start_stays<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "early")).await;
    store.pass(MAIL_WAITS_FOR_START / 2).await;
    store.post(start("a")).await;
    store.post(signal("a", "behind")).await;
    wait_too_long(&store).await;
    wait_too_long(&store).await;
    let expected = [signal("a", "early"), start("a"), signal("a", "behind")];
    assert_eq!(next_mail(&store, "a").await, expected);
}

/// A start that is not yet visible is a start.
pub async fn test_mail_that_has_a_delayed_start_stays<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let sent = store.enqueue_for_orchestrator(start("a"), Some(MAIL_WAITS_FOR_START * 2)).await;
    sent.expect("a start is enqueued");
    store.post(signal("a", "patient")).await;
    wait_too_long(&store).await;
    wait_too_long(&store).await;
    assert_eq!(next_mail(&store, "a").await, [start("a"), signal("a", "patient")]);
}

/// Mail of an instance stays, also if the instance has ended.
pub async fn test_mail_of_an_instance_stays<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("runs").await;
    store.begin(Ack::first("ended").completing(2)).await;
    store.post(signal("runs", "unread")).await;
    store.post(signal("ended", "unread")).await;
    wait_too_long(&store).await;
    wait_too_long(&store).await;
    assert_eq!(next_mail(&store, "runs").await, [signal("runs", "unread")]);
    assert_eq!(next_mail(&store, "ended").await, [signal("ended", "unread")]);
}

/// It makes no difference that a turn sent the mail.
pub async fn test_mail_of_a_turn_waits_for_a_start_up_to_its_time<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("sender").mail(signal("early", "hello")).mail(signal("late", "hello"))).await;
    store.pass(MAIL_WAITS_FOR_START.saturating_sub(MOMENT)).await;
    store.post(start("early")).await;
    assert_eq!(next_mail(&store, "early").await, [signal("early", "hello"), start("early")]);
    store.pass(MOMENT).await;
    store.post(start("late")).await;
    assert_eq!(next_mail(&store, "late").await, [start("late")]);
}

/// It makes no difference that the start is that of a child.
pub async fn test_a_child_is_not_sent_mail_that_waited_too_long<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    store.post(signal("child", "forgotten")).await;
    store.pass(MAIL_WAITS_FOR_START / 2).await;
    store.post(signal("child", "early")).await;
    store.pass(MAIL_WAITS_FOR_START / 2).await;
    let start = start_child("child", "parent", 2);
    store.step(Ack::of("parent", 1).signalled(2).mail(start.clone())).await;
    wait_too_long(&store).await;
    assert_eq!(next_mail(&store, "child").await, [signal("child", "early"), start]);
}

/// The hour of a message that is sent with a delay begins when the delay is over.
pub async fn test_delayed_mail_waits_from_when_it_is_visible<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["a", "b"] {
        let sent = store.enqueue_for_orchestrator(signal(instance, "late"), Some(MAIL_WAITS_FOR_START)).await;
        sent.expect("a message is enqueued");
    }
    wait_too_long(&store).await;
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [signal("a", "late"), start("a")]);
    wait_too_long(&store).await;
    store.post(start("b")).await;
    assert_eq!(next_mail(&store, "b").await, [start("b")]);
}

/// An instance that is given a past finds mail that waits, and none that has waited too long.
pub async fn test_a_past_is_not_given_mail_that_waited_too_long<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "forgotten")).await;
    store.pass(MAIL_WAITS_FOR_START / 2).await;
    store.post(signal("a", "early")).await;
    store.pass(MAIL_WAITS_FOR_START / 2).await;
    let past = vec![event("a", 1, 1, started())];
    store.append_with_execution("a", 1, past).await.expect("a past can be given to anybody");
    wait_too_long(&store).await;
    assert_eq!(next_mail(&store, "a").await, [signal("a", "early")]);
}

/// A name whose mail has waited too long can be sent mail again, which waits as long.
pub async fn test_mail_is_sent_again_after_mail_that_waited_too_long<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(signal("a", "forgotten")).await;
    wait_too_long(&store).await;
    store.post(signal("a", "again")).await;
    store.pass(MAIL_WAITS_FOR_START.saturating_sub(MOMENT)).await;
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [signal("a", "again"), start("a")]);
}

/// An activity of what does not exist outlives mail that waited too long beside it.
pub async fn test_mail_that_waited_too_long_leaves_work_alone<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    store.post(signal("a", "forgotten")).await;
    wait_too_long(&store).await;
    let job = store.fetch_work().await;
    let acked = store.ack_work_item(&job.token, Some(completed("a", 2))).await;
    acked.expect("an activity is finished, whoever waits for it");
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [start("a")]);
}

/// A turn that takes the start and makes no instance leaves mail that waits for another start, from then on.
pub async fn test_mail_left_by_a_start_that_was_consumed_waits_anew<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["a", "b"] {
        store.post(start(instance)).await;
        store.post(signal(instance, "left")).await;
        wait_too_long(&store).await;
        let leased = lease(&store, instance).await;
        commit(&store, reading(&leased, &[0], Ack::of(instance, 1))).await;
    }
    // The mail of "a" has waited for an hour, and that of "b" has not.
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [start("a")]);
    store.pass(MAIL_WAITS_FOR_START.saturating_sub(MOMENT)).await;
    store.post(start("b")).await;
    assert_eq!(next_mail(&store, "b").await, [signal("b", "left"), start("b")]);
}

/// What has waited too long is not counted any more, whether or not the store has removed it, and a deletion
/// does not count it.
pub async fn test_mail_that_waited_too_long_is_not_counted<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for _ in 0..5 {
        store.post(signal("a", "forgotten")).await;
        store.post(cancel("b")).await;
    }
    let depth = || async { store.admin().get_queue_depths().await.expect("depths can be asked for") };
    assert_eq!(depth().await.orchestrator_queue, 10);
    wait_too_long(&store).await;
    assert_eq!(depth().await.orchestrator_queue, 0);
    store.post(signal("a", "new")).await;
    assert_eq!(depth().await.orchestrator_queue, 1);
    let ids = ["a".to_owned(), "b".to_owned()];
    let deleted = store.admin().delete_instances_atomic(&ids, true).await.expect("mail can be deleted");
    assert_eq!(deleted.queue_messages_deleted, 1);
}

/// Mail that is left when the start of a child goes with its parent waits for another start, from then on.
pub async fn test_mail_left_by_a_start_that_was_deleted_waits_anew<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for child in ["a", "b"] {
        let parent = format!("parent of {child}");
        store.begin(Ack::first(&parent).mail(start_child(child, &parent, 2))).await;
        store.post(signal(child, "left")).await;
        wait_too_long(&store).await;
        store.admin().delete_instance(&parent, true).await.expect("the parent is deleted");
    }
    store.post(start("a")).await;
    assert_eq!(next_mail(&store, "a").await, [start("a")]);
    store.pass(MAIL_WAITS_FOR_START.saturating_sub(MOMENT)).await;
    store.post(start("b")).await;
    assert_eq!(next_mail(&store, "b").await, [signal("b", "left"), start("b")]);
}
