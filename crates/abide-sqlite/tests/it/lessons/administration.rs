//! Defects and regressions of deleting, pruning and looking. Lesson 27 (too many keys) is the engine's, and tested there.

use abide_model::{ExecutionStatus, Timestamp, WorkItem};
use abide_provider::{
    DeleteInstanceResult, InstanceFilter, OrphanFilter, ProviderAdmin as _, PruneOptions, Rejection,
    Retention,
};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

/// Everything that removes what is old, at a time when everything is.
fn remove_all_that_is_old(store: &Store) -> DeleteInstanceResult {
    store.advance(seconds(3_600));
    let provider = &store.provider;
    let host_time = Timestamp::from_millis(store.clock.now_ms());
    let retention = Retention { keep_for: seconds(60), limit: 1_000, host_time };
    let mut removed = block_on(provider.delete_instance_bulk(InstanceFilter::default())).unwrap();
    removed.add(&block_on(provider.enforce_retention(retention)).unwrap());
    removed.add(&block_on(provider.cleanup_orphaned_instances(OrphanFilter::default())).unwrap());
    removed
}

fn is_listed(store: &Store, id: &str) -> bool {
    block_on(store.provider.list_instances()).unwrap().iter().any(|listed| listed == id)
}

fn start_child(instance: &str, parent: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Child".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: Some(parent.to_owned()),
        parent_id: Some(2),
        parent_execution_id: Some(1),
        execution_id: 1,
    }
}

/// A parent that ended, and its child, whose first turn is this.
fn family(store: &Store, of_child: TurnBuilder) {
    store.create("parent", TurnBuilder::starting(1).mail(start_child("child", "parent")));
    let lease = store.lease();
    assert_eq!(lease.instance, "child");
    let mut first = of_child.under(&lease);
    first.turn.metadata.parent_instance_id = Some("parent".to_owned());
    store.commit(first);
    store.enqueue(signal("parent", "end"));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).ending(ExecutionStatus::Completed, "done").under(&lease));
}

#[test]
fn lesson_12_an_instance_between_two_executions_is_not_old() {
    on_both(|store| {
        let first = TurnBuilder::starting(1).ending(ExecutionStatus::ContinuedAsNew, "next");
        store.create("eternal", first.mail(continue_as_new("eternal")));
        assert_eq!(remove_all_that_is_old(store).instances_deleted, 0);
        let named =
            InstanceFilter { instance_ids: Some(vec!["eternal".to_owned()]), ..InstanceFilter::default() };
        assert_eq!(block_on(store.provider.delete_instance_bulk(named)).unwrap().instances_deleted, 0);
        let refused = block_on(store.provider.delete_instance("eternal", false)).unwrap_err();
        assert!(refused.message.contains("still running"), "{refused}");
        // Also while its next turn is running.
        let lease = store.lease();
        assert_eq!(remove_all_that_is_old(store).instances_deleted, 0);
        store.commit(TurnBuilder::starting(2).under(&store.lease()));
        assert_eq!(store.refused(TurnBuilder::starting(2).under(&lease)), Some(Rejection::LeaseLost));
        assert_eq!(block_on(store.provider.list_executions("eternal")).unwrap(), [1, 2]);
    });
}

#[test]
fn lesson_12_a_running_child_keeps_its_parent() {
    on_both(|store| {
        family(store, TurnBuilder::starting(1));
        assert_eq!(remove_all_that_is_old(store).instances_deleted, 0);
        let refused = block_on(store.provider.delete_instance("parent", false)).unwrap_err();
        assert!(refused.message.contains("child is still running"), "{refused}");

        store.enqueue(signal("child", "end"));
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).ending(ExecutionStatus::Completed, "done").under(&lease));
        assert_eq!(remove_all_that_is_old(store).instances_deleted, 2);
    });
}

#[test]
fn lesson_31_times_are_real_and_move() {
    on_both(|store| {
        store.advance(seconds(1));
        store.create_idle("a");
        let created = store.clock.now_ms();
        store.advance(seconds(1));
        store.enqueue(signal("a", "end"));
        let lease = store.lease();
        store.commit(TurnBuilder::of_execution(1).ending(ExecutionStatus::Completed, "done").under(&lease));
        let (ended, info) = (store.clock.now_ms(), block_on(store.provider.get_instance_info("a")).unwrap());
        assert_eq!((info.created_at, info.updated_at), (created, ended));
        let execution = block_on(store.provider.get_execution_info("a", 1)).unwrap();
        assert_eq!((execution.started_at, execution.completed_at), (created, Some(ended)));
    });
}

#[test]
fn lesson_31_depths_count_what_was_given_back_and_no_future_timers() {
    on_both(|store| {
        store
            .create("a", TurnBuilder::starting(1).work(activity("a", 2)).mail(timer("a", 3, BEGIN + 60_000)));
        store.enqueue(signal("a", "hello"));
        let depths = || {
            let depths = block_on(store.provider.get_queue_depths()).unwrap();
            (depths.orchestrator_queue, depths.worker_queue, depths.timer_queue)
        };
        assert_eq!(depths(), (1, 1, 0));
        let (lease, work) = (store.lease(), store.lease_work());
        assert_eq!(depths(), (0, 0, 0), "what is leased is being worked on");
        store.abandon(&lease.token, None).unwrap();
        store.abandon_work(&work.token, None).unwrap();
        assert_eq!(depths(), (1, 1, 0), "what was given back waits again");
        store.advance(seconds(60));
        assert_eq!(depths(), (2, 1, 0), "the timer is due");
        store.lease();
        store.lease_work();
        store.advance(LEASE);
        assert_eq!(depths(), (2, 1, 0), "leases that ran out hold nothing");
    });
}

#[test]
fn earlier_a_late_commit_does_not_bring_back_what_was_deleted() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).work(activity("a", 2)));
        store.enqueue(signal("a", "hello"));
        let (lease, work) = (store.lease(), store.lease_work());
        block_on(store.provider.delete_instance("a", true)).unwrap();
        let late = TurnBuilder::of_execution(1).event(2, status_said(Some("late"))).work(activity("a", 3));
        assert_eq!(store.refused(late.under(&lease)), Some(Rejection::LeaseLost));
        let finished = store.finish(&work.token, Some(completed("a", 2)));
        assert_eq!(finished.unwrap_err().rejection(), Some(Rejection::LeaseLost));
        assert!(!is_listed(store, "a"));
        for table in ["mailbox", "execution", "turn", "message", "work"] {
            assert_eq!(store.count(table), 0, "{table}");
        }
    });
}

#[test]
fn v0_1_25_pruning_by_hand_keeps_keys_and_children() {
    on_both(|store| {
        let first = TurnBuilder::starting(1).event(2, value_set("k", "v"));
        let first = first.ending(ExecutionStatus::ContinuedAsNew, "next").mail(continue_as_new("a"));
        store.create("a", first.mail(start_child("child", "a")));
        let leases = store.lease_with(lease_instances(2));
        for lease in &leases {
            let first =
                if lease.instance == "a" { TurnBuilder::starting(2) } else { TurnBuilder::starting(1) };
            store.commit(first.under(lease));
        }
        let pruned = block_on(store.provider.prune_executions("a", PruneOptions::default())).unwrap();
        assert_eq!((pruned.executions_deleted, pruned.events_deleted), (1, 2));
        assert_eq!(block_on(store.provider.list_executions("a")).unwrap(), [2]);
        assert_eq!(store.value::<String>("SELECT value FROM kv_store WHERE key = 'k'"), "v");
        assert!(is_listed(store, "child"));
    });
}
