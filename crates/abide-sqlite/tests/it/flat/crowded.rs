//! Calls for an instance that has most of the rows itself.

use abide_model::{ExecutionStatus, SemverRange};
use abide_provider::{DispatcherCapabilityFilter, LeaseInstances};

use super::{Cost, Costs, assert_flat, many};
use crate::support::items::*;
use crate::support::store::*;

/// More than a batch, so that batches are full in both cases.
const FEW: usize = 2_000;

/// Inserts rows for the mailbox of `a`: `{i}` is counted, `{no}` the next number.
fn crowd(store: &Store, rows: usize, columns: &str, values: &str) {
    let values = values.replace("{no}", "((SELECT number FROM counter) + i)");
    store.damage(&format!(
        "WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < {rows})
         INSERT INTO {columns} SELECT {values} FROM counted"
    ));
    store.damage(&format!("UPDATE counter SET number = number + {rows}"));
}

fn signals(store: &Store, rows: usize) {
    let item = r#"'{"ExternalRaised":{"instance":"a","name":"go","data":""}}'"#;
    let values = format!("1, 0, {{no}}, 0, {item}");
    crowd(store, rows, "message (mailbox, visible_at, no, class, item)", &values);
}

fn timers(store: &Store, rows: usize) {
    let item = r#"'{"TimerFired":{"instance":"a","execution_id":1,"id":' || (i + 100) || ',"fire_at_ms":9000000000000}}'"#;
    let values = format!("1, 9000000000000, {{no}}, 4, 1, i + 100, {item}");
    crowd(store, rows, "message (mailbox, visible_at, no, class, execution, event, item)", &values);
    store.damage("UPDATE mailbox SET due_at = 9000000000000 WHERE no = 1");
}

pub(super) fn flat(situation: &str, run: impl Fn(&Store, usize) -> Costs) {
    let [few, many] = [FEW, many()].map(|rows| run(&Store::in_memory(), rows));
    assert_flat(situation, &few, &many);
}

fn cost<T>(store: &Store, what: &'static str, call: impl FnOnce() -> T) -> (&'static str, Cost) {
    (what, Cost::of(store, call).1)
}

#[test]
fn an_instance_with_many_timers_of_its_own() {
    flat("timers of its own", |store, rows| {
        store.create_idle("a");
        timers(store, rows);
        let mut costs = vec![
            cost(store, "send", || store.enqueue(signal("a", ""))),
            cost(store, "send to its queue", || store.enqueue(queue_message("a", ""))),
            cost(store, "set a timer", || store.enqueue(timer("a", 99, BEGIN + 1_000))),
        ];
        let (lease, leasing) = Cost::of(store, || store.lease());
        let turn = TurnBuilder::of_execution(1).removing_timer(101).removing_timer(102).removing_timer(103);
        costs.push(("lease", leasing));
        costs.push(cost(store, "commit, removing timers", || store.commit(turn.under(&lease))));
        store.advance(seconds(1));
        let (lease, leasing) = Cost::of(store, || store.lease());
        assert_eq!(contents(&lease), ["TimerFired"]);
        costs.push(("lease what fired", leasing));
        costs.push(cost(store, "abandon", || store.abandon(&lease.token, Some(seconds(5))).unwrap()));
        costs
    });
}

#[test]
fn an_instance_with_much_mail_behind_its_lease() {
    flat("mail of its own", |store, rows| {
        store.create_idle("a");
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        signals(store, rows);
        let mut costs = vec![
            cost(store, "send", || store.enqueue(signal("a", ""))),
            cost(store, "set a timer", || store.enqueue(timer("a", 9, BEGIN + 60_000))),
            cost(store, "renew", || store.renew(&lease.token, LEASE).unwrap()),
        ];
        let turn = TurnBuilder::of_execution(1).removing_timer(9).mail(signal("a", "to myself"));
        costs.push(cost(store, "commit", || store.commit(turn.under(&lease))));
        let (batch, leasing) = Cost::of(store, || store.lease());
        assert_eq!(batch.messages.len(), 1_000);
        costs.push(("lease a batch", leasing));
        let turn = TurnBuilder::of_execution(1).ending(ExecutionStatus::ContinuedAsNew, "next");
        costs.push(cost(store, "commit a batch", || {
            store.commit(turn.mail(continue_as_new("a")).consuming(&batch, &[2, 3, 4]));
        }));
        let (batch, leasing) = Cost::of(store, || store.lease());
        assert_eq!(contents(&batch)[0], "ContinueAsNew");
        costs.push(("lease the successor", leasing));
        costs.push(cost(store, "abandon a batch", || store.abandon(&batch.token, None).unwrap()));
        costs
    });
}

#[test]
fn mail_that_waits_for_a_start() {
    flat("mail before its start", |store, rows| {
        store.enqueue(signal("a", "first"));
        signals(store, rows);
        let mut costs = vec![
            cost(store, "send to a queue that nobody has", || store.enqueue(queue_message("a", "dropped"))),
            cost(store, "look for mail", || assert!(store.try_lease().is_none())),
            cost(store, "start", || store.enqueue(start("a"))),
            cost(store, "send to its queue", || store.enqueue(queue_message("a", "kept"))),
        ];
        let (batch, leasing) = Cost::of(store, || store.lease());
        assert_eq!(contents(&batch)[0], "StartOrchestration");
        costs.push(("lease", leasing));
        costs
    });
}

/// Finished executions that were never pruned.
#[test]
fn an_instance_with_many_executions() {
    flat("earlier executions", |store, rows| {
        store.create_idle("a");
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        let current = u64::try_from(rows).unwrap() + 1;
        let earlier = "1, i, 'ContinuedAsNew', 1, 1";
        store.damage("DELETE FROM execution");
        store.damage("DELETE FROM turn");
        crowd(store, rows, "execution (mailbox, no, status, started_at, completed_at)", earlier);
        crowd(
            store,
            rows,
            "turn (mailbox, execution, first_event, last_event, length, events)",
            "1, i, 1, 1, 0, '[]'",
        );
        let mut costs = vec![cost(store, "start the next", || {
            store.commit(TurnBuilder::starting(current).under(&lease));
        })];
        store.enqueue(signal("a", ""));
        let (fetched, fetching) = Cost::of(store, || store.fetch().unwrap());
        assert_eq!(fetched.0.history.len(), 1);
        costs.push(("fetch with its history", fetching));
        costs
    });
}

/// What a node cannot replay, by the number of different pins.
fn passing_over(pins: u64) -> u64 {
    let store = Store::in_memory();
    let name = |number| format!("a{number}");
    for number in 0..pins {
        store.create(&name(number), TurnBuilder::starting(1).pinned(&format!("0.0.{number}")));
    }
    for number in 0..pins {
        store.enqueue(signal(&name(number), ""));
    }
    let range = SemverRange::new("9.0.0".parse().unwrap(), "9.0.0".parse().unwrap());
    let capabilities = DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] };
    let request = LeaseInstances { capabilities: Some(capabilities), ..lease_instances(1) };
    let (leases, cost) = Cost::of(&store, || store.lease_with(request));
    assert!(leases.is_empty());
    cost.total()
}

/// There are as many pins as versions of this library were ever in use, so one seek for each is enough.
#[test]
fn different_pins_are_passed_over_by_a_seek_each() {
    let (ten, twenty) = (passing_over(10), passing_over(20));
    assert!(twenty - ten <= 20 * 10, "{ten} instructions for 10 pins, {twenty} for 20");
}
