//! Bugs of §7 that were fixed elsewhere.

use abide_model::{ExecutionStatus, PruneOptions};
use abide_provider::{LeaseWork, Provider as _, TagFilter};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

#[test]
fn v0_1_3_abandoned_work_is_hidden_for_its_delay() {
    on_both(|store| {
        store.enqueue_work(activity("a", 2));
        let work = store.lease_work();
        store.abandon_work(&work.token, Some(millis(500))).unwrap();
        store.advance(millis(499));
        assert!(store.try_lease_work().is_none());
        store.advance(millis(1));
        assert_eq!(store.lease_work().attempt, 2);
    });
}

#[test]
fn v0_1_5_a_delay_is_no_lease() {
    on_both(|store| {
        store.enqueue_work(activity("a", 2));
        let work = store.lease_work();
        store.abandon_work(&work.token, Some(seconds(60))).unwrap();
        let unleased = "SELECT lease IS NULL AND leased_until IS NULL AND owner IS NULL FROM work";
        assert!(store.value::<bool>(unleased));
        assert!(store.try_lease_work().is_none(), "not leased, and yet not visible");
        assert!(store.unchanged(|| store.renew_work(&work.token, LEASE)).is_err());
        store.enqueue_work(activity("a", 3));
        assert_eq!(activity_of(&store.lease_work()), 3, "what is hidden is skipped");
    });
}

#[test]
fn v0_1_17_an_unknown_event_type_does_not_loop() {
    on_both(|store| {
        store.create_idle("a");
        store.damage("UPDATE turn SET events = replace(events, 'OrchestrationStarted', 'SomethingNew')");
        store.enqueue(signal("a", ""));
        for attempt in 1..=11 {
            let (item, token, attempts) = store.fetch().unwrap();
            assert_eq!(attempts, attempt, "the count that poisons it in the end");
            assert!(item.history.is_empty());
            assert!(item.history_error.is_some());
            if attempt < 11 {
                store.abandon(&token, None).unwrap();
            } else {
                // Appending does not read what is there.
                let end = abide_model::EventKind::OrchestrationCompleted { output: "given up".to_owned() };
                store.ack(&token, vec![event(99_999, end)]).unwrap();
            }
        }
        assert!(store.fetch().is_none());
    });
}

#[test]
fn v0_1_20_custom_status_is_durable_and_its_version_goes_up_by_one_per_commit() {
    let store = Store::on_file();
    let status = |store: &Store| block_on(store.provider.get_custom_status("a", 0)).unwrap();
    let twice = [status_said(Some("one")), status_said(Some("two"))];
    store.create("a", TurnBuilder::starting(1).events(2, twice));
    assert_eq!(status(&store), Some((Some("two".to_owned()), 1)));

    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let next = TurnBuilder::of_execution(1).mail(continue_as_new("a"));
    store.commit(next.ending(ExecutionStatus::ContinuedAsNew, "next").under(&lease));
    let store = store.reopened();
    assert_eq!(status(&store), Some((Some("two".to_owned()), 1)), "it survives both");

    let lease = store.lease();
    store.commit(TurnBuilder::starting(2).event(2, status_said(None)).under(&lease));
    assert_eq!(status(&store), Some((None, 2)));
    assert_eq!(block_on(store.provider.get_custom_status("a", 2)).unwrap(), None);
}

#[test]
fn v0_1_22_a_tag_survives_the_commit_that_schedules_the_activity() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).work(activity_with("a", 2, None, Some("gpu"))));
        assert!(store.try_lease_work().is_none());
        let tags = |tag: &str| LeaseWork { tags: TagFilter::tags([tag]), ..lease_work(1) };
        assert!(store.lease_work_with(tags("cpu")).is_empty());
        let leased = store.lease_work_with(tags("gpu")).remove(0);
        assert_eq!(leased.item, activity_with("a", 2, None, Some("gpu")));
        store.abandon_work(&leased.token, None).unwrap();
        assert!(store.try_lease_work().is_none(), "nor is it lost when it is given back");
        let gpu = TagFilter::tags(["gpu"]);
        let fetched = store.provider.fetch_work_item(LEASE, seconds(0), None, &gpu);
        assert_eq!(block_on(fetched).unwrap().unwrap().2, 2);
    });
}

#[test]
fn v0_1_25_pruning_executions_keeps_keys() {
    on_both(|store| {
        let first = TurnBuilder::starting(1).event(2, value_set("kept", "1")).mail(continue_as_new("a"));
        store.create("a", first.ending(ExecutionStatus::ContinuedAsNew, "next"));
        let lease = store.lease();
        let second = TurnBuilder::starting(2).event(2, value_set("new", "2"));
        store.commit(second.pruning(PruneOptions::default()).under(&lease));
        assert_eq!(store.count("execution"), 1);
        assert_eq!(store.count("turn"), 1);
        let values = block_on(store.provider.get_kv_all_values("a")).unwrap();
        assert_eq!(values.len(), 2);
        assert_eq!(values["kept"], "1");
        store.enqueue(signal("a", ""));
        assert_eq!(store.fetch().unwrap().0.kv_snapshot["kept"].value, "1");
    });
}

#[test]
fn v0_1_26_a_snapshot_has_nothing_of_the_current_execution() {
    on_both(|store| {
        // A counter that is read, changed and written around an activity, step by step.
        store.create("a", TurnBuilder::starting(1).event(2, value_set("n", "1")));
        for (event, value) in [(3, "2"), (4, "3")] {
            store.enqueue(signal("a", ""));
            let lease = store.lease();
            assert!(block_on(store.provider.read_kv_snapshot(&lease)).unwrap().is_empty());
            store.commit(TurnBuilder::of_execution(1).event(event, value_set("n", value)).under(&lease));
            assert_eq!(block_on(store.provider.get_kv_value("a", "n")).unwrap().as_deref(), Some(value));
        }
        store.enqueue(signal("a", ""));
        let (item, token, _) = store.fetch().unwrap();
        assert!(item.kv_snapshot.is_empty());
        store.abandon(&token, None).unwrap();

        let lease = store.lease();
        let end = TurnBuilder::of_execution(1).mail(continue_as_new("a"));
        store.commit(end.ending(ExecutionStatus::ContinuedAsNew, "next").under(&lease));
        let lease = store.lease();
        let snapshot = block_on(store.provider.read_kv_snapshot(&lease)).unwrap();
        assert_eq!(snapshot["n"].value, "3");
    });
}

#[test]
fn v0_1_27_the_size_of_what_cannot_be_read_is_an_error() {
    on_both(|store| {
        store.create_idle("a");
        assert!(block_on(store.provider.get_instance_stats("a")).unwrap().is_some());
        store.damage("UPDATE turn SET events = '[{\"kind\":'");
        let error = block_on(store.provider.get_instance_stats("a")).unwrap_err();
        assert!(!error.retryable, "{error}");
    });
}

#[test]
fn v0_1_32_abandoning_touches_only_what_was_handed_out() {
    on_both(|store| {
        store.create_idle("a");
        store.enqueue(signal("a", "handed out"));
        let lease = store.lease();
        store.enqueue(signal("a", "later"));
        store.enqueue(timer("a", 9, BEGIN + 5_000));
        store.abandon(&lease.token, Some(seconds(60))).unwrap();
        let lease = store.lease();
        assert_eq!((contents(&lease), attempts(&lease)), (vec!["later".to_owned()], vec![1]));
        store.commit(TurnBuilder::of_execution(1).under(&lease));
        store.advance(seconds(5));
        assert_eq!(contents(&store.lease()), ["TimerFired"], "the timer kept its time");
    });
}

#[test]
fn v0_1_32_mail_between_two_executions_waits_for_the_successor() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).ending(ExecutionStatus::ContinuedAsNew, "next"));
        store.enqueue(signal("a", "in between"));
        let lease = store.lease();
        assert_eq!(contents(&lease), ["in between"]);
        // The successor's start is not there yet: nothing is consumed.
        store.commit(TurnBuilder::of_execution(1).consuming(&lease, &[]));
        store.enqueue(continue_as_new("a"));
        let lease = store.lease();
        assert_eq!(contents(&lease), ["ContinueAsNew", "in between"]);
        assert_eq!(attempts(&lease), [1, 1]);
    });
}
