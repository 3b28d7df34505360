//! A deleted instance is not the next one of its name.

use abide_model::Timestamp;
use abide_provider::{
    Ability, Authority, Consumed, InstanceLease, Position, Rejection, TurnCommit, WorkLease,
};

use crate::ProviderFactory;
use crate::batches::calls::{
    Written, assert_rejected_as, assert_written_everywhere, assert_written_nowhere, commit, lease, lease_job,
    signals, try_commit, try_finish, turn_of, under, writing_everywhere,
};
use crate::suite::area;
use crate::support::{
    Ack, ORCHESTRATION, Subject, VERSION, activity, assert_refused, completed, signal, start,
};

area! {
    incarnations;
    test_lease_tells_the_time_of_the_store: Need::Ability(Ability::Incarnations);
    test_lease_brings_no_history_along: Need::Ability(Ability::Incarnations);
    test_incarnation_is_the_same_for_life: Need::Ability(Ability::Incarnations);
    test_instances_have_different_incarnations: Need::Ability(Ability::Incarnations);
    test_lease_of_work_names_the_orchestration: Need::Ability(Ability::Incarnations);
    test_lease_of_work_tells_the_time_of_the_store: Need::Ability(Ability::Incarnations);
    test_next_instance_of_a_name_is_another_incarnation: Need::Ability(Ability::Incarnations), Administration;
    test_lease_on_a_deleted_instance_is_lost: Need::Ability(Ability::Incarnations), Administration;
    test_lease_on_a_deleted_instance_is_not_one_on_the_next:
        Need::Ability(Ability::Incarnations), Administration;
    test_work_of_a_deleted_instance_is_not_work_of_the_next:
        Need::Ability(Ability::Incarnations), Administration;
    test_history_of_a_deleted_instance_is_not_read_from_the_next:
        Need::Ability(Ability::Incarnations), Administration;
    test_fused_step_of_a_deleted_instance_is_busy_on_the_next:
        Need::Ability(Ability::Incarnations), Need::Ability(Ability::FusedSteps), Administration;
}

/// A lease says when it was granted, by the clock that will judge it.
pub async fn test_lease_tells_the_time_of_the_store<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let before = store.now_ms();
    let first = lease(&store, "a").await.store_time;
    assert_right_time(&store, first, before);
    store.expire_leases().await;
    assert_a_lease_later(&store, first, lease(&store, "a").await.store_time);
}

/// So does a lease on an activity: orchestrations ask for the time by one.
pub async fn test_lease_of_work_tells_the_time_of_the_store<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post_work(activity("a", 2)).await;
    let before = store.now_ms();
    let first = lease_job(&store).await.store_time;
    assert_right_time(&store, first, before);
    store.expire_leases().await;
    assert_a_lease_later(&store, first, lease_job(&store).await.store_time);
}

fn assert_right_time(store: &Subject<'_>, granted: Option<Timestamp>, before: u64) {
    // Two clocks on one machine, in whole milliseconds.
    let (granted, tolerance) = (told(granted), 100);
    assert!(granted + tolerance >= before, "granted at {granted}, and asked for at {before}");
    assert!(granted <= store.now_ms() + tolerance, "granted at {granted}, and it is {}", store.now_ms());
}

fn assert_a_lease_later(store: &Subject<'_>, first: Option<Timestamp>, second: Option<Timestamp>) {
    let (first, second) = (told(first), told(second));
    let passed = u64::try_from(store.lock().as_millis()).expect("a short time");
    assert!(second >= first + passed, "a lease of {passed} ms from {first} ran out, and it is {second}");
}

fn told(time: Option<Timestamp>) -> u64 {
    time.expect("a store with incarnations says what time it is").as_millis()
}

/// A store with incarnations leases without reading: whoever needs the history asks for it.
pub async fn test_lease_brings_no_history_along<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    assert!(leased.preloaded.is_none(), "what came with a lease cannot be told from another incarnation's");
    let history = store.read_history_after(&leased, 0).await.expect("the history is readable");
    assert_eq!(history, store.history("a").await);
}

/// An instance is the same from its first lease on, through every turn and execution and after its end; and its
/// position changes with every event that is appended.
pub async fn test_incarnation_is_the_same_for_life<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let mut positions = Vec::new();
    let turns = [
        Ack::first("a"),
        Ack::of("a", 1).signalled(2),
        Ack::of("a", 1).continuing(3),
        Ack::first_of("a", 2).signalled(2),
        Ack::of("a", 2).completing(3),
    ];
    for turn in turns {
        let leased = lease(&store, "a").await;
        positions.push(leased.position);
        let is_continuing = !turn.orchestrator_items.is_empty();
        commit(&store, under(&leased, turn)).await;
        if !is_continuing {
            store.post(signal("a", "next")).await;
        }
    }
    positions.push(lease(&store, "a").await.position);
    let incarnation = positions[0].incarnation;
    let stands = |execution_id, last_event_id| Position { incarnation, execution_id, last_event_id };
    let expected = [stands(0, 0), stands(1, 1), stands(1, 2), stands(1, 3), stands(2, 2), stands(2, 3)];
    assert_eq!(positions, expected);
}

/// Two instances are never the same incarnation.
pub async fn test_instances_have_different_incarnations<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut seen = Vec::new();
    for instance in ["a", "b", "c"] {
        store.post(start(instance)).await;
        let incarnation = lease(&store, instance).await.position.incarnation;
        assert!(!seen.contains(&incarnation), "two instances are incarnation {incarnation}");
        seen.push(incarnation);
    }
}

/// A lease on an activity names the orchestration that asked and its version, as they are now; where there is no
/// such instance, neither.
pub async fn test_lease_of_work_names_the_orchestration<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    assert_eq!(handler_of(&lease_job(&store).await), (ORCHESTRATION, VERSION));
    store.step(Ack::of("a", 1).named("Invoice", "2.0.0").scheduling(activity("a", 3))).await;
    assert_eq!(handler_of(&lease_job(&store).await), ("Invoice", "2.0.0"));
    store.post_work(activity("nobody", 2)).await;
    assert_eq!(handler_of(&lease_job(&store).await), ("", ""));
}

fn handler_of(job: &WorkLease) -> (&str, &str) {
    (&job.orchestration_name, &job.orchestration_version)
}

/// An instance that is deleted and started again is another one, although it may stand at the same event.
pub async fn test_next_instance_of_a_name_is_another_incarnation<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let leased = leased_anew(&store, "a").await;
        assert_eq!((leased.position.execution_id, leased.position.last_event_id), (1, 2));
        assert!(!seen.contains(&leased.position.incarnation), "an incarnation is used again");
        seen.push(leased.position.incarnation);
        delete(&store, "a").await;
    }
}

/// Who holds a lease on an instance that was deleted holds nothing: every call with it is refused, and nothing
/// comes back to life.
pub async fn test_lease_on_a_deleted_instance_is_lost<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let leased = leased_anew(&store, "a").await;
    delete(&store, "a").await;
    let stale = try_commit(&store, under(&leased, writing_everywhere("a", 3))).await;
    assert_rejected_as(&stale, Rejection::LeaseLost, "a commit under a lease on a deleted instance");
    assert_powerless(&store, &leased).await;
    let history = store.read_history_after(&leased, 0).await;
    assert_rejected_as(&history, Rejection::LeaseLost, "reading the history of a deleted instance");
    let values = store.read_kv_snapshot(&leased).await;
    assert_rejected_as(&values, Rejection::LeaseLost, "reading the values of a deleted instance");
    assert!(store.history("a").await.is_empty(), "the instance does not come back");
    store.assert_no_turn("the instance is gone with its mail").await;
    store.assert_no_work("a refused commit schedules nothing").await;
}

/// A lease on a deleted instance is good for nothing on the next one of its name, leased or not.
pub async fn test_lease_on_a_deleted_instance_is_not_one_on_the_next<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let stale = leased_anew(&store, "a").await;
    delete(&store, "a").await;
    let held = leased_anew(&store, "a").await;
    let before = Written::of(&store, "a").await;
    let refused = try_commit(&store, under(&stale, writing_everywhere("a", 3))).await;
    assert_rejected_as(&refused, Rejection::LeaseLost, "a commit under a lease on the deleted one");
    assert_powerless(&store, &stale).await;
    assert_written_nowhere(&store, "a", &before).await;
    commit(&store, under(&held, writing_everywhere("a", 3))).await;
    assert_written_everywhere(&store, "a", 3).await;

    let refused = try_commit(&store, under(&stale, Ack::of("a", 1).signalled(6))).await;
    assert_rejected_as(&refused, Rejection::LeaseLost, "a commit under a lease on the deleted one");
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4, 5]);
}

async fn assert_powerless(store: &Subject<'_>, lease: &InstanceLease) {
    let renewed = store.renew_orchestration_item_lock(&lease.token, store.lock()).await;
    assert_refused(&renewed, "renewing a lease on a deleted instance");
    let abandoned = store.abandon_orchestration_item(&lease.token, None, false).await;
    assert_refused(&abandoned, "giving back a lease on a deleted instance");
    let acked = store.try_ack(&lease.token, Ack::of(&lease.instance, 1).signalled(9)).await;
    assert_refused(&acked, "acking under a lease on a deleted instance");
}

/// An activity of a deleted instance says nothing to the next one, which waits for the same event: its lease is
/// lost, and its result is refused.
pub async fn test_work_of_a_deleted_instance_is_not_work_of_the_next<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let stale = lease_job(&store).await;
    delete(&store, "a").await;
    store.begin(Ack::first("a").scheduling(activity("a", 2))).await;
    let held = lease_job(&store).await;
    assert_ne!(stale.token, held.token);
    assert_eq!(held.attempt, 1, "this activity was never leased before");

    let finished = try_finish(&store, &stale.token, Some(completed("a", 2))).await;
    assert_rejected_as(&finished, Rejection::LeaseLost, "the result of a deleted instance's activity");
    let renewed = store.renew_work_item_lock(&stale.token, store.lock()).await;
    assert_refused(&renewed, "renewing the lease on a deleted instance's activity");
    let abandoned = store.abandon_work_item(&stale.token, None, false).await;
    assert_refused(&abandoned, "giving back a deleted instance's activity");
    store.assert_no_turn("nobody was told of a result").await;
    store.assert_no_work("the next instance's activity is still leased").await;
    try_finish(&store, &held.token, Some(completed("a", 2))).await.expect("its lease is held");
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)]);
}

/// Who leased an instance reads that one or nothing: not the history, and not the values, of the next one of its
/// name.
pub async fn test_history_of_a_deleted_instance_is_not_read_from_the_next<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let stale = leased_anew(&store, "a").await;
    delete(&store, "a").await;
    let next = leased_anew(&store, "a").await;
    for after in [0, 1, 2] {
        let history = store.read_history_after(&stale, after).await;
        assert_rejected_as(&history, Rejection::LeaseLost, "reading another incarnation's history");
    }
    let values = store.read_kv_snapshot(&stale).await;
    assert_rejected_as(&values, Rejection::LeaseLost, "reading another incarnation's values");
    let history = store.read_history_after(&next, 0).await.expect("the history is readable");
    assert_eq!(history, store.history("a").await);
    store.read_kv_snapshot(&next).await.expect("the values are readable");
}

/// A fused step that expects the deleted instance does not fit the next one, although that stands at the same
/// event.
pub async fn test_fused_step_of_a_deleted_instance_is_busy_on_the_next<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let (old, _) = waiting_anew(&store, "a").await;
    delete(&store, "a").await;
    let (new, job) = waiting_anew(&store, "a").await;
    let step = |expected: Position| TurnCommit {
        instance: "a".to_owned(),
        authority: Authority::FinishedWork { token: job.token.clone(), expected },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: turn_of(writing_everywhere("a", 3)),
    };
    let before = Written::of(&store, "a").await;
    let busy = try_commit(&store, step(old)).await;
    assert_rejected_as(&busy, Rejection::Busy, "a fused step that expects the deleted instance");
    assert_written_nowhere(&store, "a", &before).await;
    commit(&store, step(new)).await;
    assert_written_everywhere(&store, "a", 3).await;
}

/// Starts an instance, commits two events and leases it again.
async fn leased_anew(store: &Subject<'_>, instance: &str) -> InstanceLease {
    store.begin(Ack::first(instance).signalled(2)).await;
    store.post(signal(instance, "next")).await;
    let leased = lease(store, instance).await;
    assert_eq!(signals(&leased.messages), ["next"]);
    leased
}

/// Starts an instance that waits for an activity, which is leased, and says where it stands.
async fn waiting_anew(store: &Subject<'_>, instance: &str) -> (Position, WorkLease) {
    store.post(start(instance)).await;
    let leased = lease(store, instance).await;
    commit(store, under(&leased, Ack::first(instance).scheduling(activity(instance, 2)))).await;
    let position = Position { execution_id: 1, last_event_id: 2, ..leased.position };
    (position, lease_job(store).await)
}

async fn delete(store: &Subject<'_>, instance: &str) {
    let deleted = store.admin().delete_instance(instance, true).await;
    let deleted = deleted.unwrap_or_else(|error| panic!("'{instance}' could not be deleted: {error}"));
    assert_eq!(deleted.instances_deleted, 1);
}
