//! Word of changes to an instance, for those who look at it.
//!
//! Word may come without need, and it may come a moment after the call that changed something was answered. So each of these
//! waits for word until it sees what it waits for, and fails if word does not come.

use std::time::Duration;

use abide_model::{EventKind, OrchestrationStatus};
use abide_provider::{
    Ability, Authority, Changes, Consumed, InstanceFilter, Position, Provider, TurnCommit,
};
use futures_util::future::{Either, select};
use futures_util::{FutureExt as _, StreamExt as _};

use crate::ProviderFactory;
use crate::batches::calls::{commit, lease, lease_all, lease_job, turn_of, under};
use crate::factory::real_time;
use crate::suite::area;
use crate::support::{Ack, Subject, activity, beside, event, signal, start, started};

area! {
    changes;
    test_first_turn_is_told: Need::Ability(Ability::PushedChanges);
    test_end_is_told: Need::Ability(Ability::PushedChanges);
    test_custom_status_is_told: Need::Ability(Ability::PushedChanges);
    test_values_are_told: Need::Ability(Ability::PushedChanges);
    test_appended_events_are_told: Need::Ability(Ability::PushedChanges);
    test_every_turn_of_a_batch_is_told: Need::Ability(Ability::PushedChanges);
    test_fused_step_is_told: Need::Ability(Ability::PushedChanges), Need::Ability(Ability::FusedSteps);
    test_deletion_is_told: Need::Ability(Ability::PushedChanges), Administration;
    test_deletion_of_many_is_told: Need::Ability(Ability::PushedChanges), Administration;
    test_change_before_the_first_poll_is_told: Need::Ability(Ability::PushedChanges);
    test_change_is_told_after_it_can_be_seen: Need::Ability(Ability::PushedChanges);
    test_everyone_who_listens_to_an_instance_is_told: Need::Ability(Ability::PushedChanges);
    test_many_changes_are_told_in_few_words: Need::Ability(Ability::PushedChanges);
    test_word_of_changes_does_not_end: Need::Ability(Ability::PushedChanges);
}

/// Within which real time word must have come.
const PROMPTLY: Duration = Duration::from_secs(10);

/// Who listens to a name hears of the instance that comes to be under it.
pub async fn test_first_turn_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut changes = listen(&store, "a");
    store.create("a").await;
    until_status(&*store, &mut changes, "a", is_running).await;
}

/// That an instance completed, or failed, is told.
pub async fn test_end_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["completed", "failed"] {
        store.create(instance).await;
    }
    let mut changes = listen(&store, "completed");
    store.step(Ack::of("completed", 1).completing(2)).await;
    until_status(&*store, &mut changes, "completed", is_completed).await;
    let mut changes = listen(&store, "failed");
    store.step(Ack::of("failed", 1).failing(2)).await;
    until_status(&*store, &mut changes, "failed", |status| {
        matches!(status, OrchestrationStatus::Failed { .. })
    })
    .await;
}

/// What code says about its progress is told, also that it says nothing any more.
pub async fn test_custom_status_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let mut changes = listen(&store, "a");
    for (version, said) in [(1, Some("half way")), (2, None), (3, Some("there"))] {
        let kind = EventKind::CustomStatusUpdated { status: said.map(str::to_owned) };
        store.step(Ack::of("a", 1).event(version + 1, kind)).await;
        let expected = OrchestrationStatus::Running {
            custom_status: said.map(str::to_owned),
            custom_status_version: version,
        };
        until_status(&*store, &mut changes, "a", |status| *status == expected).await;
    }
}

/// Values that are set or cleared are told.
pub async fn test_values_are_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let mut changes = listen(&store, "a");
    let set = |value: &str| EventKind::KeyValueSet {
        key: "k".to_owned(),
        value: value.to_owned(),
        last_updated_at_ms: 1,
    };
    let turns = [
        (set("one"), Some("one")),
        (EventKind::KeyValueCleared { key: "k".to_owned() }, None),
        (set("two"), Some("two")),
        (EventKind::KeyValuesCleared, None),
    ];
    for (id, (kind, expected)) in (2..).zip(turns) {
        store.step(Ack::of("a", 1).event(id, kind)).await;
        until(&mut changes, || async {
            let value = store.get_kv_value("a", "k").await.expect("a value can be read");
            value.as_deref() == expected
        })
        .await;
    }
}

/// Events that are appended without a turn are told, too.
pub async fn test_appended_events_are_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut changes = listen(&store, "a");
    let append = async |id: u64, kind: EventKind| {
        let appended = store.append_with_execution("a", 1, vec![event("a", 1, id, kind)]).await;
        appended.expect("events can be appended");
    };
    append(1, started()).await;
    until_status(&*store, &mut changes, "a", is_running).await;
    append(2, EventKind::OrchestrationCompleted { output: "past".to_owned() }).await;
    until_status(&*store, &mut changes, "a", is_completed).await;
}

/// Each turn of several in one call is told to those who listen to its instance.
pub async fn test_every_turn_of_a_batch_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = ["a", "b", "c"];
    for name in names {
        store.create(name).await;
    }
    for name in names {
        store.post(signal(name, "go")).await;
    }
    let mut listeners = names.map(|name| (name, listen(&store, name)));
    let leases = lease_all(&store).await;
    let turns = leases.iter().map(|lease| under(lease, Ack::of(&lease.instance, 1).completing(2)));
    for answer in store.commit_turns(turns.collect()).await {
        answer.expect("each lease is held");
    }
    for (name, changes) in &mut listeners {
        until_status(&*store, changes, name, is_completed).await;
    }
}

/// A turn that is committed with its activity is told like any other.
pub async fn test_fused_step_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let leased = lease(&store, "a").await;
    commit(&store, under(&leased, Ack::first("a").scheduling(activity("a", 2)))).await;
    let job = lease_job(&store).await;
    let mut changes = listen(&store, "a");
    let expected = Position { incarnation: leased.position.incarnation, execution_id: 1, last_event_id: 2 };
    let step = TurnCommit {
        instance: "a".to_owned(),
        authority: Authority::FinishedWork { token: job.token, expected },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: turn_of(Ack::of("a", 1).completing(3)),
    };
    commit(&store, step).await;
    until_status(&*store, &mut changes, "a", is_completed).await;
}

/// That an instance is gone is told, for it and for everything below it; and who listens to a name hears of the next
/// instance of that name.
pub async fn test_deletion_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("parent").await;
    store.begin(Ack::first("child").child_of("parent")).await;
    let mut listeners = ["parent", "child"].map(|name| (name, listen(&store, name)));
    store.admin().delete_instance("parent", true).await.expect("the tree is deleted");
    for (name, changes) in &mut listeners {
        until_status(&*store, changes, name, is_missing).await;
    }
    store.create("parent").await;
    let [(_, changes), _] = &mut listeners;
    until_status(&*store, changes, "parent", is_running).await;
}

/// The same for many that are deleted in one call.
pub async fn test_deletion_of_many_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let names = ["a", "b"];
    for name in names {
        store.begin(Ack::first(name).completing(2)).await;
    }
    let mut listeners = names.map(|name| (name, listen(&store, name)));
    let deleted = store.admin().delete_instance_bulk(InstanceFilter::default()).await;
    assert_eq!(deleted.expect("both have ended").instances_deleted, 2);
    for (name, changes) in &mut listeners {
        until_status(&*store, changes, name, is_missing).await;
    }
}

/// Who listens is told from that call on, not from the first poll on.
pub async fn test_change_before_the_first_poll_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let mut changes = listen(&store, "a");
    store.step(Ack::of("a", 1).completing(2)).await;
    told(&mut changes).await;
}

/// Word of a change does not come before the change can be seen, or comes again after it: who looks whenever word
/// comes sees everything.
pub async fn test_change_is_told_after_it_can_be_seen<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for instance in ["a", "b", "c", "d"] {
        store.create(instance).await;
        let mut changes = listen(&store, instance);
        let provider = store.shared();
        let reader = beside(async move {
            until_status(provider.as_ref(), &mut changes, instance, is_completed).await;
        });
        store.step(Ack::of(instance, 1).completing(2)).await;
        let seen = reader.await;
        assert!(seen.is_ok(), "the end was told before it could be seen, and never again: {seen:?}");
    }
}

/// Everyone who listens to the same instance is told; one who has stopped is in nobody's way.
pub async fn test_everyone_who_listens_to_an_instance_is_told<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("a").await;
    let mut first = listen(&store, "a");
    let gone = listen(&store, "a");
    let mut second = listen(&store, "a");
    drop(gone);
    store.step(Ack::of("a", 1).completing(2)).await;
    for changes in [&mut first, &mut second] {
        until_status(&*store, changes, "a", is_completed).await;
    }
}

/// What nobody took note of is told once, however much it was: a reader that is slow costs nothing.
pub async fn test_many_changes_are_told_in_few_words<F: ProviderFactory>(factory: &F) {
    const MANY: u64 = 60;
    let store = Subject::new(factory).await;
    store.create("a").await;
    let mut changes = listen(&store, "a");
    for id in 2..2 + MANY {
        let kind = EventKind::CustomStatusUpdated { status: Some(id.to_string()) };
        store.step(Ack::of("a", 1).event(id, kind)).await;
    }
    told(&mut changes).await;
    let more = std::iter::from_fn(|| changes.next().now_or_never()).take(100).count();
    assert!(more < 10, "{MANY} changes that nobody took note of were told {} times", more + 1);
    store.step(Ack::of("a", 1).completing(2 + MANY)).await;
    until_status(&*store, &mut changes, "a", is_completed).await;
}

/// There is always more to hear: the stream does not end while the store is there, not with its instance either.
pub async fn test_word_of_changes_does_not_end<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut changes = listen(&store, "a");
    store.begin(Ack::first("a").completing(2)).await;
    until_status(&*store, &mut changes, "a", is_completed).await;
    for _ in 0..10 {
        let heard = changes.next().now_or_never();
        assert_ne!(heard, Some(None), "the stream ended, and the store is still there");
    }
}

fn listen(store: &Subject<'_>, instance: &str) -> Changes {
    store.changes(instance).expect("a store that pushes changes lets its callers listen")
}

/// Waits for word, which must come.
async fn told(changes: &mut Changes) {
    let timeout = Box::pin(real_time(PROMPTLY));
    match select(changes.next(), timeout).await {
        Either::Left((heard, _)) => heard.expect("who listens is told until the store is gone"),
        Either::Right(_) => panic!("something changed, and nobody was told"),
    }
}

/// Looks whenever word comes, until it sees what it waits for.
async fn until<Looking: Future<Output = bool>>(changes: &mut Changes, looks: impl Fn() -> Looking) {
    loop {
        told(changes).await;
        if looks().await {
            return;
        }
    }
}

/// The same for the status of an instance.
async fn until_status(
    store: &dyn Provider,
    changes: &mut Changes,
    instance: &str,
    is_awaited: impl Fn(&OrchestrationStatus) -> bool + Send + Sync,
) {
    loop {
        told(changes).await;
        let status = store.read_status(instance).await;
        if is_awaited(&status.unwrap_or_else(|error| panic!("the status of '{instance}': {error}"))) {
            return;
        }
    }
}

fn is_running(status: &OrchestrationStatus) -> bool {
    matches!(status, OrchestrationStatus::Running { .. })
}

fn is_completed(status: &OrchestrationStatus) -> bool {
    matches!(status, OrchestrationStatus::Completed { .. })
}

fn is_missing(status: &OrchestrationStatus) -> bool {
    matches!(status, OrchestrationStatus::NotFound)
}
