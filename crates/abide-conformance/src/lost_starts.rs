//! Starts of children that cannot be read: the parent that waits for the child is told.

use std::time::Duration;

use abide_model::{ErrorDetails, EventKind, WorkItem};
use abide_provider::{Ability, ParentLink};

use crate::batches::started_by;
use crate::suite::area;
use crate::support::{Ack, Subject, Turn, signal, start_child};
use crate::{Hook, ProviderFactory};

area! {
    lost_starts;
    test_parent_of_a_start_that_cannot_be_read_is_told:
        Need::Hook(Hook::CorruptQueues), Need::Ability(Ability::UnbornChildren);
    test_parent_of_a_successor_that_cannot_be_read_is_told:
        Need::Hook(Hook::CorruptQueues), Need::Ability(Ability::UnbornChildren);
    test_second_start_that_cannot_be_read_tells_nobody:
        Need::Hook(Hook::CorruptQueues), Need::Ability(Ability::UnbornChildren);
}

/// How long a row may be hidden between its attempts, in all.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A child whose start cannot be read will never answer. When the start is put aside, its parent is told that
/// the child failed, as poison, in the execution and for the event that asked; once.
pub async fn test_parent_of_a_start_that_cannot_be_read_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(asking("parent")).await;
    factory.corrupt_queued_messages("parent::child").await;
    let told = until_a_turn(&store).await.unwrap_or_else(|| panic!("{PATIENCE:?} later the parent still waits"));
    assert_told(&told);
    store.ack(&told.token, Ack::of("parent", 1).signalled(3)).await;
    assert!(until_a_turn(&store).await.is_none(), "the parent is told once, and nobody else is");
}

/// So is the parent of an instance that continues as new with a start that cannot be read.
pub async fn test_parent_of_a_successor_that_cannot_be_read_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(asking("parent")).await;
    let turn = store.fetch("parent::child").await;
    let child = Ack::of("parent::child", 1).named("Child", "1.0.0").event(1, started_by(&link()));
    store.ack(&turn.token, child.continuing(2)).await;
    factory.corrupt_queued_messages("parent::child").await;
    let told = until_a_turn(&store).await.unwrap_or_else(|| panic!("{PATIENCE:?} later the parent still waits"));
    assert_told(&told);
}

/// A second start of a child that has started changes nothing for its parent, readable or not: the child will
/// answer.
pub async fn test_second_start_that_cannot_be_read_tells_nobody<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(asking("parent")).await;
    let turn = store.fetch("parent::child").await;
    let child = Ack::of("parent::child", 1).named("Child", "1.0.0").event(1, started_by(&link()));
    store.ack(&turn.token, child).await;
    store.post(start_child("parent::child", "parent", 2)).await;
    factory.corrupt_queued_messages("parent::child").await;
    assert!(until_a_turn(&store).await.is_none(), "nobody is told");
    store.post(signal("parent", "still here")).await;
    assert_eq!(store.fetch("parent").await.signals(), ["still here"]);
}

fn link() -> ParentLink {
    ParentLink { instance: "parent".to_owned(), execution_id: Some(1), event_id: Some(2) }
}

/// The first turn of an instance that asks for a child with event 2.
fn asking(instance: &str) -> Ack {
    let child = format!("{instance}::child");
    let asked = EventKind::SubOrchestrationScheduled {
        name: "Child".to_owned(),
        instance: child.clone(),
        input: "{}".to_owned(),
    };
    Ack::first(instance).event(2, asked).mail(start_child(&child, instance, 2))
}

/// The next turn that somebody has, however long it takes until rows that cannot be read are put aside.
async fn until_a_turn(store: &Subject<'_>) -> Option<Turn> {
    let looks = PATIENCE.as_millis() / store.lock().as_millis().max(1);
    for _ in 0..=looks {
        let turn = store.try_fetch().await;
        if turn.is_some() {
            return turn;
        }
        store.pass(store.lock()).await;
    }
    None
}

#[track_caller]
fn assert_told(turn: &Turn) {
    assert_eq!(turn.item.instance, "parent");
    let [WorkItem::SubOrchFailed { parent_instance, parent_execution_id: 1, parent_id: 2, details }] =
        &turn.item.messages[..]
    else {
        panic!("the parent is told that the child of event 2 failed, but this came: {:?}", turn.item.messages);
    };
    assert_eq!(parent_instance, "parent");
    let ErrorDetails::Poison { attempt_count, max_attempts, .. } = details else {
        panic!("a start that nobody can read is poison: {details:?}");
    };
    assert!(attempt_count > max_attempts, "{attempt_count} attempts are not more than {max_attempts}");
}
