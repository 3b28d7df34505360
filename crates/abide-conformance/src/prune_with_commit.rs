//! Past executions are deleted by the commit that asks for it.

use abide_model::{EventKind, PruneOptions, PruneResult, WorkItem};
use abide_provider::{Ability, InstanceLease, PRUNE_BATCH, Rejection, TurnCommit};

use crate::ProviderFactory;
use crate::batches::calls::{assert_rejected_as, commit, lease, lease_job, signals, try_commit, under};
use crate::suite::area;
use crate::support::{Ack, Subject, activity, assert_refused, event, signal, start, started};

area! {
    prune_with_commit;
    test_commit_prunes_all_but_the_last: Need::Ability(Ability::PruneWithCommit);
    test_keeping_none_one_or_unsaid_is_the_same: Need::Ability(Ability::PruneWithCommit);
    test_commit_never_prunes_the_current_execution: Need::Ability(Ability::PruneWithCommit);
    test_commit_never_prunes_a_running_execution: Need::Ability(Ability::PruneWithCommit);
    test_commit_prunes_only_what_ended_before: Need::Ability(Ability::PruneWithCommit);
    test_commit_without_prune_prunes_nothing: Need::Ability(Ability::PruneWithCommit);
    test_refused_commit_prunes_nothing: Need::Ability(Ability::PruneWithCommit);
    test_pruned_executions_take_their_work_along: Need::Ability(Ability::PruneWithCommit);
    test_commit_prunes_a_bounded_number: Need::Ability(Ability::PruneWithCommit);
    test_pruning_spares_everything_else: Need::Ability(Ability::PruneWithCommit);
}

/// A commit that says how many executions to keep deletes the older ones with their events, the one that it writes
/// counted, and tells how many.
pub async fn test_commit_prunes_all_but_the_last<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let fourth = begin_after(&store, "a", 3).await;
    let committed = commit(&store, pruning(under(&fourth, Ack::first_of("a", 4)), keep(2))).await;
    assert_eq!(committed.pruned, Some(pruned(2, 4)), "two executions of two events each");
    assert_executions(&store, "a", &[0, 0, 2, 1]).await;

    store.post(signal("a", "next")).await;
    let again = lease(&store, "a").await;
    let committed = commit(&store, pruning(under(&again, Ack::of("a", 4).signalled(2)), keep(2))).await;
    assert_eq!(committed.pruned, Some(pruned(0, 0)), "nothing is left to prune");
    assert_executions(&store, "a", &[0, 0, 2, 2]).await;
}

/// The current execution always stays, so to keep none, to keep one, and not to say how many is the same.
pub async fn test_keeping_none_one_or_unsaid_is_the_same<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for (instance, keep_last) in [("none", Some(0)), ("one", Some(1)), ("unsaid", None)] {
        let third = begin_after(&store, instance, 2).await;
        let options = PruneOptions { keep_last, completed_before: None };
        let committed = commit(&store, pruning(under(&third, Ack::first_of(instance, 3)), options)).await;
        assert_eq!(committed.pruned, Some(pruned(2, 4)), "keeping {instance}");
        assert_executions(&store, instance, &[0, 0, 1]).await;
    }
}

/// No commit prunes the execution that it writes, not even if it ends it: by completing, or by continuing as new.
pub async fn test_commit_never_prunes_the_current_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let second = begin_after(&store, "a", 1).await;
    let continuing = Ack::first_of("a", 2).continuing(2);
    let committed = commit(&store, pruning(under(&second, continuing), keep(0))).await;
    assert_eq!(committed.pruned, Some(pruned(1, 2)));
    assert_executions(&store, "a", &[0, 2]).await;

    let third = lease(&store, "a").await;
    let in_future = PruneOptions { keep_last: Some(0), completed_before: Some(store.now_ms() * 2) };
    let completing = Ack::first_of("a", 3).completing(2);
    let committed = commit(&store, pruning(under(&third, completing), in_future)).await;
    assert_eq!(committed.pruned, Some(pruned(1, 2)));
    assert_executions(&store, "a", &[0, 0, 2]).await;
}

/// An execution that has not ended is not pruned, however old it is.
pub async fn test_commit_never_prunes_a_running_execution<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.begin(Ack::first("a").signalled(2)).await;
    let past = vec![event("a", 2, 1, started())];
    store.append_with_execution("a", 2, past).await.expect("a past can be appended");
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    assert_eq!(leased.position.execution_id, 2);
    let committed = commit(&store, pruning(under(&leased, Ack::of("a", 2).signalled(2)), keep(1))).await;
    assert_eq!(committed.pruned, Some(pruned(0, 0)), "the first execution still runs");
    assert_executions(&store, "a", &[2, 2]).await;
}

/// With a time, only executions that ended before it are pruned; with a number too, both must allow it.
pub async fn test_commit_prunes_only_what_ended_before<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let second = begin_after(&store, "a", 1).await;
    store.renew_orchestration_item_lock(&second.token, store.lock() * 4).await.expect("the lease is held");
    store.pass(store.lock() / 2).await;
    let between = store.now_ms();
    store.pass(store.lock() / 2).await;
    commit(&store, under(&second, Ack::first_of("a", 2).continuing(2))).await;
    let third = lease(&store, "a").await;
    commit(&store, under(&third, Ack::first_of("a", 3).continuing(2))).await;

    let fourth = lease(&store, "a").await;
    let many = PruneOptions { keep_last: Some(4), completed_before: Some(between) };
    let committed = commit(&store, pruning(under(&fourth, Ack::first_of("a", 4)), many)).await;
    assert_eq!(committed.pruned, Some(pruned(0, 0)), "four executions are to be kept");
    assert_executions(&store, "a", &[2, 2, 2, 1]).await;

    store.post(signal("a", "next")).await;
    let again = lease(&store, "a").await;
    let before = PruneOptions { keep_last: None, completed_before: Some(between) };
    let committed = commit(&store, pruning(under(&again, Ack::of("a", 4)), before)).await;
    assert_eq!(committed.pruned, Some(pruned(1, 2)), "one execution had ended by then");
    assert_executions(&store, "a", &[0, 2, 2, 1]).await;
}

/// Who does not ask for a prune gets none, and is not told of one.
pub async fn test_commit_without_prune_prunes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let third = begin_after(&store, "a", 2).await;
    let committed = commit(&store, under(&third, Ack::first_of("a", 3).completing(2))).await;
    assert_eq!(committed.pruned, None);
    assert_executions(&store, "a", &[2, 2, 2]).await;
}

/// A commit that is refused prunes nothing: turn and prune happen together, or neither does.
pub async fn test_refused_commit_prunes_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let third = begin_after(&store, "a", 2).await;
    let lost = InstanceLease { token: "no-such-token".to_owned(), ..third.clone() };
    let stale = try_commit(&store, pruning(under(&lost, Ack::first_of("a", 3)), keep(1))).await;
    assert_rejected_as(&stale, Rejection::LeaseLost, "a token that is unknown");
    let over = try_commit(&store, pruning(under(&third, Ack::of("a", 1).signalled(3)), keep(1))).await;
    assert_rejected_as(&over, Rejection::Conflict, "a turn of an execution that is over");
    let recorded = try_commit(&store, pruning(under(&third, Ack::of("a", 2).signalled(2)), keep(1))).await;
    assert_rejected_as(&recorded, Rejection::Conflict, "an event that is recorded already");
    assert_executions(&store, "a", &[2, 2, 0]).await;

    let committed = commit(&store, pruning(under(&third, Ack::first_of("a", 3)), keep(1))).await;
    assert_eq!(committed.pruned, Some(pruned(2, 4)));
}

/// Activities of a pruned execution go with it: queued ones are never handed out, and a lease on one is lost. Those
/// of executions that stay, stay.
pub async fn test_pruned_executions_take_their_work_along<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let first = Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3)).continuing(4);
    store.begin(first).await;
    let leased_job = lease_job(&store).await;
    assert_eq!(leased_job.item, activity("a", 2));
    let second = lease(&store, "a").await;
    store.begin(Ack::first("b").scheduling(activity("b", 2))).await;
    let own = WorkItem::ActivityExecute {
        instance: "a".to_owned(),
        execution_id: 2,
        id: 2,
        name: "Charge".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    };
    let turn = Ack::first_of("a", 2).scheduling(own.clone());
    let committed = commit(&store, pruning(under(&second, turn), keep(1))).await;
    assert_eq!(committed.pruned, Some(pruned(1, 4)));

    let renewed = store.renew_work_item_lock(&leased_job.token, store.lock()).await;
    assert_refused(&renewed, "renewing the lease on an activity of a pruned execution");
    assert_eq!(store.fetch_work().await.item, activity("b", 2), "another instance's work stays");
    assert_eq!(store.fetch_work().await.item, own, "the current execution's work stays");
    store.expire_leases().await;
    assert_eq!(store.fetch_work().await.item, activity("b", 2));
    assert_eq!(store.fetch_work().await.item, own);
    store.assert_no_work("what was pruned does not come back").await;
}

/// A commit that finds many executions deletes the oldest 256, and the next one goes on: nobody waits for an instance that was
/// never pruned before.
pub async fn test_commit_prunes_a_bounded_number<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let ended = PRUNE_BATCH + 3;
    for execution in 1..=ended {
        let past = Ack::first_of("a", execution).continuing(2).events;
        store.append_with_execution("a", execution, past).await.expect("a past can be appended");
    }
    let current = ended + 1;
    let past = Ack::first_of("a", current).events;
    store.append_with_execution("a", current, past).await.expect("a past can be appended");

    for (event_id, deleted, left) in [(2, PRUNE_BATCH, PRUNE_BATCH + 1), (3, 2, PRUNE_BATCH + 3)] {
        store.post(signal("a", "next")).await;
        let leased = lease(&store, "a").await;
        let turn = Ack::of("a", current).signalled(event_id);
        let committed = commit(&store, pruning(under(&leased, turn), keep(2))).await;
        assert_eq!(committed.pruned, Some(pruned(deleted, deleted * 2)), "what one commit prunes");
        let last_pruned = store.event_ids("a", left - 1).await;
        assert!(last_pruned.is_empty(), "the oldest go first");
        assert_eq!(store.event_ids("a", left).await.len(), 2, "what is left is the newest");
    }
}

/// Pruning touches past executions of one instance: not its values, custom status, mail or name, and no other
/// instance.
pub async fn test_pruning_spares_everything_else<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let other = begin_after(&store, "b", 2).await;
    commit(&store, under(&other, Ack::first_of("b", 3))).await;
    let value = EventKind::KeyValueSet { key: "k".to_owned(), value: "v".to_owned(), last_updated_at_ms: 1 };
    let status = EventKind::CustomStatusUpdated { status: Some("going".to_owned()) };
    store.begin(Ack::first("a").event(2, value).event(3, status).continuing(4)).await;
    let second = lease(&store, "a").await;
    store.post(signal("a", "waiting")).await;
    let committed = commit(&store, pruning(under(&second, Ack::first_of("a", 2)), keep(1))).await;
    assert_eq!(committed.pruned, Some(pruned(1, 4)));

    assert_executions(&store, "b", &[2, 2, 1]).await;
    let value = store.get_kv_value("a", "k").await.expect("the value is readable");
    assert_eq!(value.as_deref(), Some("v"), "values belong to the instance");
    let status = store.get_custom_status("a", 0).await.expect("the custom status is readable");
    assert_eq!(status, Some((Some("going".to_owned()), 1)), "the custom status belongs to the instance");
    let next = lease(&store, "a").await;
    assert_eq!(signals(&next.messages), ["waiting"], "mail belongs to the instance");
    let snapshot = store.read_kv_snapshot(&next).await.expect("the snapshot is readable");
    assert_eq!(snapshot.get("k").map(|entry| entry.value.as_str()), Some("v"));
}

/// An instance that continued as new so many times, two events each, leased for the next execution.
async fn begin_after(store: &Subject<'_>, instance: &str, ended: u64) -> InstanceLease {
    store.post(start(instance)).await;
    for execution in 1..=ended {
        let leased = lease(store, instance).await;
        commit(store, under(&leased, Ack::first_of(instance, execution).continuing(2))).await;
    }
    lease(store, instance).await
}

fn pruning(mut commit: TurnCommit, options: PruneOptions) -> TurnCommit {
    commit.turn.prune = Some(options);
    commit
}

fn keep(last: u32) -> PruneOptions {
    PruneOptions { keep_last: Some(last), completed_before: None }
}

fn pruned(executions_deleted: u64, events_deleted: u64) -> PruneResult {
    PruneResult { instances_processed: 1, executions_deleted, events_deleted }
}

/// The executions of an instance, from the first, have so many events; none if they are pruned.
async fn assert_executions(store: &Subject<'_>, instance: &str, events: &[usize]) {
    let mut found = Vec::new();
    for execution in (1..).take(events.len()) {
        found.push(store.event_ids(instance, execution).await.len());
    }
    assert_eq!(found, events, "events of the executions of '{instance}'");
}
