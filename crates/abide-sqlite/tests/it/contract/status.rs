//! How an instance stands: from a row, whatever its history is like.

use abide_model::{ErrorDetails, EventKind, ExecutionStatus, OrchestrationStatus};
use abide_provider::Provider as _;
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

fn status(store: &Store, instance: &str) -> OrchestrationStatus {
    block_on(store.provider.read_status(instance)).unwrap()
}

fn failed(why: &str) -> EventKind {
    EventKind::OrchestrationFailed { details: ErrorDetails::orchestration_failed(why) }
}

/// An instance with so many turns, the last of which ended it.
fn with_turns(store: &Store, name: &str, count: u64, end: ExecutionStatus) {
    store.create_idle(name);
    for id in 2..=count {
        store.enqueue(signal(name, ""));
        let lease = store.lease();
        let turn = TurnBuilder::of_execution(1);
        let turn = if id == count {
            let last = if end == ExecutionStatus::Failed { failed("over") } else { status_said(None) };
            turn.event(id, last).ending(end, "over")
        } else {
            turn.event(id, status_said(None))
        };
        store.commit(turn.under(&lease));
    }
}

/// Statements that ran, and how many instructions they took.
fn costs(store: &Store, call: impl FnOnce()) -> Vec<(&'static str, u64)> {
    let steps = || block_on(store.provider.costs());
    let before = steps();
    call();
    let ran = steps().into_iter().filter_map(|(name, runs, instructions)| {
        let former = before.iter().find(|(former, ..)| *former == name);
        let (former_runs, former_instructions) = former.map_or((0, 0), |(_, runs, steps)| (*runs, *steps));
        (runs > former_runs).then_some((name, instructions - former_instructions))
    });
    ran.collect()
}

#[test]
fn it_costs_the_same_whatever_the_length_of_the_history() {
    for (end, statements) in [
        (ExecutionStatus::Completed, &["read_status"][..]),
        (ExecutionStatus::Failed, &["last_turn", "read_status"]),
    ] {
        let of_length = |count: u64| {
            let store = Store::in_memory();
            with_turns(&store, "a", count, end);
            status(&store, "a"); // prepares the statements
            costs(&store, || drop(status(&store, "a")))
        };
        let [few, many] = [3, 300].map(of_length);
        let names: Vec<_> = few.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, statements);
        assert_eq!(few, many);
    }
}

#[test]
fn it_begins_no_transaction() {
    on_both(|store| {
        with_turns(store, "a", 3, ExecutionStatus::Failed);
        store.settle();
        let before = store.provider.transactions();
        assert!(matches!(status(store, "a"), OrchestrationStatus::Failed { .. }));
        assert_eq!(store.provider.transactions(), before);
    });
}

#[test]
fn it_is_told_why_one_failed_whose_history_cannot_be_read() {
    on_both(|store| {
        store.create_idle("a");
        store.damage("UPDATE turn SET events = '{'");
        assert!(matches!(status(store, "a"), OrchestrationStatus::Running { .. }));
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        let end = TurnBuilder::of_execution(1).event(99_999, failed("unreadable"));
        store.commit(end.ending(ExecutionStatus::Failed, "unreadable").under(&lease));
        let details = ErrorDetails::orchestration_failed("unreadable");
        let expected = OrchestrationStatus::Failed { details, custom_status: None, custom_status_version: 0 };
        assert_eq!(status(store, "a"), expected);
    });
}

#[test]
fn a_failure_that_does_not_say_why_is_an_error_that_will_not_pass() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).ending(ExecutionStatus::Failed, "over"));
        let error = block_on(store.provider.read_status("a")).unwrap_err();
        assert!(!error.retryable && error.to_string().contains("'a'"), "{error}");
    });
}

#[test]
fn what_is_damaged_is_an_error_for_its_reader_only() {
    for damage in [
        "UPDATE mailbox SET status = 'Sleeping' WHERE id = 'a'",
        "UPDATE mailbox SET status = CAST(x'ff' AS TEXT) WHERE id = 'a'",
        "UPDATE execution SET output = CAST(x'ff' AS TEXT) WHERE mailbox = 1",
        "UPDATE custom_status SET value = CAST(x'ff' AS TEXT) WHERE mailbox = 1",
    ] {
        println!("{damage}");
        let store = Store::in_memory();
        let turn = TurnBuilder::starting(1).event(2, status_said(Some("fine")));
        store.create("a", turn.ending(ExecutionStatus::Completed, "done"));
        store.create_idle("b");
        store.damage(damage);
        let error = block_on(store.provider.read_status("a")).unwrap_err();
        assert!(!error.retryable, "{error}");
        assert!(matches!(status(&store, "b"), OrchestrationStatus::Running { .. }));
    }
}
