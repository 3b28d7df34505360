//! Messages, work and timers that a turn sends and takes back.

use abide_model::ExecutionStatus;

use crate::support::*;

fn timers(store: &Store) -> Vec<u64> {
    store
        .dump()
        .messages
        .iter()
        .filter(|(_, message)| message.class == "Timer")
        .map(|(number, _)| *number)
        .collect()
}

#[test]
fn work_is_numbered_before_messages() {
    let store = Store::new();
    let turn = TurnBuilder::starting(1).mail(signal("b", "")).mail(start("c")).work(activity("a", 2));
    store.create("a", turn.work(activity("d", 3)));
    let dump = store.dump();
    assert_eq!(dump.work.keys().collect::<Vec<_>>(), [&2, &3]);
    assert_eq!(dump.messages.keys().collect::<Vec<_>>(), [&4, &5]);
    let incarnations = ["a", "d", "b", "c"].map(|name| dump.instances[name].incarnation);
    assert_eq!(incarnations, [1, 2, 3, 4]);
}

#[test]
fn a_turn_can_send_queue_messages_to_its_own_new_instance() {
    let store = Store::new();
    let turn = TurnBuilder::starting(1).mail(queue_message("a", "mine")).mail(queue_message("b", "nobody's"));
    store.create("a", turn);
    assert_eq!(store.mail(), [2]);
}

#[test]
fn a_queue_message_behind_a_start_of_the_same_turn_is_kept() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).mail(start("b")).mail(queue_message("b", "first")));
    assert_eq!(store.lease().messages.len(), 2);
}

#[test]
fn named_timers_of_this_execution_are_removed() {
    let store = Store::new();
    let far = BEGIN + 60_000;
    let turn = TurnBuilder::starting(1).mail(timer("a", 2, far)).mail(timer("a", 3, far));
    let turn = turn.mail(start("b")).mail(timer("b", 2, far));
    store.create("a", turn.removing_timer(2));
    assert_eq!(timers(&store), [3, 5]);
}

#[test]
fn timers_of_another_execution_stay() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).mail(timer("a", 2, BEGIN + 60_000)));
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).removing_timer(2).under(&lease));
    assert_eq!(timers(&store), [2]);
}

#[test]
fn the_end_of_an_execution_removes_all_of_its_timers() {
    let store = Store::new();
    let far = BEGIN + 60_000;
    store.create("a", TurnBuilder::starting(1).mail(timer("a", 2, far)).mail(timer("a", 3, far)));
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let last = TurnBuilder::of_execution(1).mail(timer("a", 4, far));
    let last = last.mail(start("b")).mail(timer("b", 4, far)).mail(timer("nobody", 4, far));
    store.commit(last.ending(ExecutionStatus::Completed, "done").under(&lease));
    let dump = store.dump();
    assert_eq!(
        dump.messages.values().map(|message| message.mailbox.as_str()).collect::<Vec<_>>(),
        ["b", "b"]
    );
}

#[test]
fn revoked_work_is_deleted_and_its_lease_is_lost() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).work(activity("a", 2)).work(activity("a", 3)));
    let work = store.lease_work();
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.commit(TurnBuilder::of_execution(1).revoking("a", 2).revoking("a", 99).under(&lease));
    assert!(store.renew_work(&work.token, LEASE).is_err());
    assert!(store.finish(&work.token, Some(completed("a", 2))).is_err());
    assert_eq!(store.lease_work().item, activity("a", 3));
    assert!(store.try_lease().is_none());
}

#[test]
fn work_that_is_enqueued_and_revoked_by_one_turn_was_never_there() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).work(activity("a", 2)).revoking("a", 2));
    assert!(store.try_lease_work().is_none());
}
